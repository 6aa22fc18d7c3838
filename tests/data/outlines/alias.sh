alias gs=status
