"""What an adapter keeps on the disk: where, in which file, for which agent, and whether it is whole."""
