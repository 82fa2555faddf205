"""What leads from where to where: links resolved, edges weighed, and what follows from places in a note."""
