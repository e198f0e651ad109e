// Command lkeplan compiles, checks and applies node pools for LKE, written as
// HCL. Each command is a file of its own.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], processEnv()))
}
