package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
)

// A Ring is a set of clusters that get a revision at the same time, after those of the previous
// ring. Rings are read from the configuration before a change, as guards are.
type Ring struct {
	Name     string        `json:"name"`
	Clusters []string      `json:"clusters"` // names, sorted
	Soak     time.Duration `json:"soak"`     // how long a revision has to be ready before the next ring
	Range    hcl.Range     `json:"range"`
}

// The limits of rings. A NodePlan reads each cluster of the previous ring.
const (
	maxRingClusters = 1000
	maxSoak         = 30 * 24 * time.Hour
)

// rings reads the rings block of the directory and its modules; nil if there is none.
func (all *compilation) rings(own Cluster) (rings []Ring) {
	var first *hcl.Block
	for _, c := range all.compilers {
		for _, block := range c.dir.Blocks.OfType(schemas.Rings.Type) {
			if first != nil {
				c.report(diag.At("More than one rings block", fmt.Sprintf("A directory and its modules can have one rings "+
					"block, and one was already declared at %s. Keep one of them.", diag.Line(first.DefRange)), block.DefRange))
				continue
			}
			first, rings = block, c.ringsOf(block, own)
		}
	}
	return rings
}

// ringsOf reads a rings block, with the rings in the order in which they are written.
func (c *compiler) ringsOf(block *hcl.Block, own Cluster) (rings []Ring) {
	read := decode.Block(schemas.Rings, block, c.scope)
	c.unknown = append(c.unknown, read.Unknown...)
	c.report(read.Diags...)
	if !read.Whole() {
		return nil
	}
	named, _ := read.Fields["ring"].(map[string]any)
	if len(named) == 0 {
		c.report(diag.At("No rings", `The rings block contains no ring. Add ring "dev" { clusters = ["dev"] }, or `+
			"delete the block.", block.DefRange))
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		rings = append(rings, c.ring(name, named[name].(map[string]any), read.Origins))
	}
	slices.SortStableFunc(rings, func(a, b Ring) int { return cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte) })
	c.checkClusters(rings, own, read.Origins, block.DefRange)
	return rings
}

func (c *compiler) ring(name string, fields map[string]any, origins decode.Origins) Ring {
	at := "ring." + name
	r := Ring{Name: name, Range: origins.Find(at).Range}
	clusters, _ := fields["clusters"].([]any)
	for _, cluster := range clusters {
		r.Clusters = append(r.Clusters, fmt.Sprint(cluster))
	}
	slices.Sort(r.Clusters)
	if text, written := fields["soak"].(string); written {
		var err error
		if r.Soak, err = time.ParseDuration(text); err != nil || r.Soak < 0 || r.Soak > maxSoak {
			origin := origins.Find(at + ".soak")
			c.report(origin.Error("Invalid duration",
				fmt.Sprintf(`The argument soak is a time such as "1h", of 30 days at most, not %q.`, text)))
		}
	}
	return r
}

// checkClusters reports rings without clusters, invalid names, clusters in several rings, and
// that the cluster of the directory is in none.
func (c *compiler) checkClusters(rings []Ring, own Cluster, origins decode.Origins, block hcl.Range) {
	in := map[string]string{} // the ring of each cluster
	for _, r := range rings {
		at := origins.Find("ring." + r.Name + ".clusters")
		if len(r.Clusters) == 0 {
			c.report(at.Error("Empty ring", fmt.Sprintf("The ring %q contains no cluster, so the next ring would "+
				"have no cluster to wait for. Add a cluster, or delete the ring.", r.Name)))
		}
		for _, name := range r.Clusters {
			wrong, other := schemas.WrongClusterName(name, false), in[name]
			switch {
			case wrong != "":
				c.report(at.Error("Invalid cluster name", wrong))
			case other == r.Name:
				c.report(at.Error("Duplicate cluster", fmt.Sprintf("The ring %q names the cluster %q twice.", r.Name, name)))
			case other != "":
				c.report(at.Error("Cluster in two rings", fmt.Sprintf("The cluster %q is already in the ring %q. A cluster can "+
					"be in only one ring.", name, other)))
			}
			in[name] = r.Name
		}
	}
	if len(in) > maxRingClusters {
		c.report(diag.Limit("Too many clusters", fmt.Sprintf("Rings can have at most %d clusters.", maxRingClusters), block))
	}
	if own.Name != "" && in[own.Name] == "" {
		c.report(diag.At("Cluster in no ring", fmt.Sprintf("The directory configures the cluster %q, which is in none of the "+
			"rings. Add it to a ring, or do not declare rings in this directory.", own.Name), block))
	}
}
