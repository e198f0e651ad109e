// Package simulator runs the Linode simulator as one of the processes of a sandbox:
// it serves the API and plays the nodes against the sandbox's API server. What is
// simulated, and how, is in package lkesim.
package simulator

import (
	"fmt"
	"os"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/linode/lkesim"
)

// Config is what the sandbox asks the simulator to play. It goes to the simulator's
// process as a JSON file.
type Config struct {
	Tier              string        `json:"tier"`
	Region            string        `json:"region"`
	ClusterLabel      string        `json:"clusterLabel"`
	ClusterID         int           `json:"clusterID"`
	KubernetesVersion string        `json:"kubernetesVersion"`
	Token             string        `json:"token"`
	InstanceDelay     time.Duration `json:"instanceDelay"`
	JoinDelay         time.Duration `json:"joinDelay"`
	CCMDelay          time.Duration `json:"ccmDelay"`
	DeleteDelay       time.Duration `json:"deleteDelay"`
	ListDelay         time.Duration `json:"listDelay"`
	NodeGoneDelay     time.Duration `json:"nodeGoneDelay"`
	Jitter            float64       `json:"jitter"`
	MaxInstances      int           `json:"maxInstances"`
	Seed              uint64        `json:"seed"`
	RateLimit         string        `json:"rateLimit"`
	// Catalog is a file with a snapshot of plans and prices; empty means the
	// embedded one.
	Catalog string `json:"catalog"`
}

// New makes the simulator. It is also how a configuration is checked before
// anything is started with it.
func (c Config) New() (*lkesim.Simulator, error) {
	limit, err := lkesim.ParseRateLimit(c.RateLimit)
	if err != nil {
		return nil, err
	}
	plans, err := c.catalog()
	if err != nil {
		return nil, fmt.Errorf("catalog: %w", err)
	}
	return lkesim.New(lkesim.Config{
		Tier:              c.Tier,
		Region:            c.Region,
		ClusterLabel:      c.ClusterLabel,
		ClusterID:         c.ClusterID,
		KubernetesVersion: c.KubernetesVersion,
		Token:             c.Token,
		InstanceDelay:     c.InstanceDelay,
		JoinDelay:         c.JoinDelay,
		CCMDelay:          c.CCMDelay,
		DeleteDelay:       c.DeleteDelay,
		ListDelay:         c.ListDelay,
		NodeGoneDelay:     c.NodeGoneDelay,
		Jitter:            c.Jitter,
		MaxInstances:      c.MaxInstances,
		Seed:              c.Seed,
		RateLimit:         limit,
		Catalog:           plans,
	})
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
