package catalog

import (
	"fmt"
	"io"
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
// are skipped. A count of zero and an empty value are left out.
const (
	magic   = "lkeplan-catalog"
	version = 1
)

// Write writes the catalog as a snapshot that [Read] reads back to an equal one. Equal catalogs give equal bytes.
func (c *Catalog) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d\n", magic, version)
	b.WriteString("# Plans, regions and prices of Linode's public API; prices are US dollars, hourly/monthly.\n")
	if c.date != "" {
		fmt.Fprintf(&b, "date %s\n", quote(c.date))
	}
	if c.source != "" {
		fmt.Fprintf(&b, "source %s\n", quote(c.source))
	}
	b.WriteByte('\n')
	for _, r := range c.regions {
		writeRegion(&b, r)
	}
	b.WriteByte('\n')
	for _, p := range c.plans {
		writePlan(&b, p)
	}
	b.WriteByte('\n')
	for _, plan := range sortedKeys(c.limited) {
		writeLimited(&b, plan, c.limited[plan])
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	return nil
}

func writeRegion(b *strings.Builder, r Region) {
	b.WriteString("region " + r.ID)
	field(b, "label", r.Label)
	field(b, "country", r.Country)
	field(b, "status", r.Status)
	field(b, "site", r.SiteType)
	for _, capability := range r.Capabilities {
		field(b, "can", capability)
	}
	b.WriteByte('\n')
}

func writePlan(b *strings.Builder, p Plan) {
	b.WriteString("plan " + p.ID)
	field(b, "label", p.Label)
	field(b, "class", p.Class)
	number(b, "vcpus", p.VCPUs)
	number(b, "memory", p.MemoryMiB)
	number(b, "disk", p.DiskMiB)
	number(b, "transfer", p.TransferGB)
	number(b, "network", p.NetworkOutMbps)
	number(b, "gpus", p.GPUs)
	number(b, "accelerated", p.AcceleratedDevices)
	field(b, "successor", p.Successor)
	field(b, "price", p.Price.String())
	for _, region := range sortedKeys(p.RegionPrices) {
		field(b, "price@"+region, p.RegionPrices[region].String())
	}
	b.WriteByte('\n')
}

func writeLimited(b *strings.Builder, plan string, regions map[string]bool) {
	var sold, withheld []string
	for _, region := range sortedKeys(regions) {
		if regions[region] {
			sold = append(sold, region)
		} else {
			withheld = append(withheld, region)
		}
	}
	b.WriteString("limited " + plan)
	field(b, "sold", strings.Join(sold, ","))
	field(b, "withheld", strings.Join(withheld, ","))
	b.WriteByte('\n')
}

func field(b *strings.Builder, key, value string) {
	if value != "" {
		b.WriteString(" " + key + "=" + quote(value))
	}
}

func number(b *strings.Builder, key string, n int) {
	if n != 0 {
		field(b, key, strconv.Itoa(n))
	}
}

func quote(s string) string {
	plain := func(r rune) bool {
		return r > ' ' && r < 0x7f && r != '"' && r != '\\' && r != '`' && r != '#'
	}
	for _, r := range s {
		if !plain(r) {
			return strconv.Quote(s)
		}
	}
	return s
}
