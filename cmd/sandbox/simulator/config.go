// Package simulator runs the Linode simulator as one of the processes of a sandbox:
// it serves the API and plays the nodes against the sandbox's API server. What is
// simulated, and how, is in package sim.
package simulator

import (
	"fmt"
	"os"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/sim"
)

// Config is what the sandbox asks the simulator to play. It goes to the simulator's
// process as a JSON file.
type Config struct {
	sim.Config
	// RateLimit is what sim.ParseRateLimit reads.
	RateLimit string
	// Catalog is a file with a snapshot of plans and prices; empty means the
	// embedded one.
	Catalog string
}

// New makes the simulator. It is also how a configuration is checked before
// anything is started with it.
func (c Config) New() (*sim.Simulator, error) {
	played := c.Config
	var err error
	if played.RateLimit, err = sim.ParseRateLimit(c.RateLimit); err != nil {
		return nil, err
	}
	if played.Catalog, err = c.catalog(); err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return sim.New(played)
}

func (c Config) catalog() (*catalog.Catalog, error) {
	if c.Catalog == "" {
		return catalog.Embedded()
	}
	file, err := os.Open(c.Catalog)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return catalog.Read(file)
}
