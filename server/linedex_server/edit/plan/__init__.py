"""What each tool asks for, as changes of text."""
