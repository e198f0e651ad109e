# only
cluster {
  name   = dev # want: Unknown name: There is nothing named "dev" here. Text is written in quotes: "dev".
  region = "us-ord"
}
