package catalog

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The snapshot is text, one fact a line, sorted, so that a refresh shows in review as the lines that changed:
//
//	lkeplan-catalog 1
//	date 2026-09-15
//	source "where the facts came from"
//	region au-mel label="Melbourne, AU" country=au status=ok site=core can=Kubernetes can="Premium Plans"
//	plan g6-standard-2 label="Linode 4GB" class=standard vcpus=2 memory=4096 … price=0.036/24 price@br-gru=0.05/33.6
//	limited g7-premium-2 sold=au-mel,br-gru withheld=us-central,us-east
//
// A value with anything but plain characters is quoted as Go quotes strings. Lines that start with # and empty lines
// are skipped. A count of zero and an empty value are left out, and a price that is not known is a question mark.
const (
	magic   = "lkeplan-catalog"
	version = 1
)

// MarshalText returns the catalog as a snapshot that [Read] reads back to an equal one. Equal catalogs give equal
// bytes.
func (c *Catalog) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %d\n", magic, version)
	b.WriteString("# Plans, regions and prices of Linode's public API; prices are US dollars, hourly/monthly; ? is not known.\n")
	if c.date != "" {
		fmt.Fprintf(&b, "date %s\n", quoteField(c.date))
	}
	if c.source != "" {
		fmt.Fprintf(&b, "source %s\n", quoteField(c.source))
	}
	b.WriteByte('\n')
	for _, r := range c.regions {
		b.WriteString("region " + r.ID)
		writeFacts(&b, r.facts())
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	for _, p := range c.plans {
		b.WriteString("plan " + p.ID)
		writeFacts(&b, p.facts())
		for _, region := range slices.Sorted(maps.Keys(p.RegionPrices)) {
			writeField(&b, "price@"+region, p.RegionPrices[region].String())
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	for _, plan := range slices.Sorted(maps.Keys(c.limited)) {
		writeLimited(&b, plan, c.limited[plan])
	}
	return b.Bytes(), nil
}

// fact is one field of a line: its key, and where the value is: *string, *int, *Price or, repeated, *[]string.
type fact struct {
	key string
	at  any
}

// facts returns the fields of a region's line, in order.
func (r *Region) facts() []fact {
	return []fact{
		{"label", &r.Label}, {"country", &r.Country}, {"status", &r.Status}, {"site", &r.SiteType}, {"can", &r.Capabilities},
	}
}

// facts returns the fields of a plan's line, in order; the prices of regions follow them.
func (p *Plan) facts() []fact {
	return []fact{
		{"label", &p.Label}, {"class", &p.Class}, {"vcpus", &p.VCPUs}, {"memory", &p.MemoryMiB}, {"disk", &p.DiskMiB},
		{"transfer", &p.TransferGB}, {"network", &p.NetworkOutMbps}, {"gpus", &p.GPUs},
		{"accelerated", &p.AcceleratedDevices}, {"successor", &p.Successor}, {"from", &p.From}, {"price", &p.Price},
	}
}

func writeFacts(b *bytes.Buffer, facts []fact) {
	for _, f := range facts {
		switch at := f.at.(type) {
		case *string:
			writeField(b, f.key, *at)
		case *int:
			if *at != 0 {
				writeField(b, f.key, strconv.Itoa(*at))
			}
		case *Price:
			writeField(b, f.key, at.String())
		case *[]string:
			for _, value := range *at {
				writeField(b, f.key, value)
			}
		}
	}
}

func writeLimited(b *bytes.Buffer, plan string, regions map[string]bool) {
	var sold, withheld []string
	for _, region := range slices.Sorted(maps.Keys(regions)) {
		if regions[region] {
			sold = append(sold, region)
		} else {
			withheld = append(withheld, region)
		}
	}
	b.WriteString("limited " + plan)
	writeField(b, "sold", strings.Join(sold, ","))
	writeField(b, "withheld", strings.Join(withheld, ","))
	b.WriteByte('\n')
}

func writeField(b *bytes.Buffer, key, value string) {
	if value != "" {
		b.WriteString(" " + key + "=" + quoteField(value))
	}
}

func quoteField(s string) string {
	odd := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"\\`#", r) }
	if strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}
