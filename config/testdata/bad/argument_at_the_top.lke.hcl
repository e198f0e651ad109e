weight = 10 # want: Unsupported argument: An argument named "weight" is not expected here.
