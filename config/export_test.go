package config

import "github.com/lkeplan/lkeplan/config/meter"

// FunctionNames lists the functions of the language, for the test that has an
// example of each.
func FunctionNames() (names []string) {
	for name := range functions(meter.New()) {
		names = append(names, name)
	}
	return names
}
