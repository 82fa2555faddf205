"""What is thought about notes while nobody asks: tags, mentions, edges, storylines."""
