# only
cluster {
  name   = dev # want: Unknown name: The name "dev" is not declared. Write text in quotes: "dev".
  region = "us-ord"
}
