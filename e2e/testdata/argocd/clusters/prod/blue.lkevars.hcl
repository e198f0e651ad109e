owner = "blue"
