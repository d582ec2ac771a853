"""Records of what processes did to one lake, and a check that it is as if they had worked one by one."""
