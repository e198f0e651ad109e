package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	pageSize = 500
	// maxPages and maxBody bound how much a broken or hostile server can send. The real lists are one to five
	// pages of at most 100 KiB.
	maxPages = 50
	maxBody  = 4 << 20
)

// Fetch reads a catalog from the public endpoints GET /v4/linode/types, /regions and /regions/availability under
// baseURL (https://api.linode.com). They need no token, and none is sent. The date of the catalog is that of the
// server.
func Fetch(ctx context.Context, client *http.Client, baseURL string) (*Catalog, error) {
	f := fetcher{client: client, base: strings.TrimRight(baseURL, "/")}
	plans, err := fetchAll[Plan](ctx, &f, "/v4/linode/types")
	if err != nil {
		return nil, err
	}
	regions, err := fetchAll[Region](ctx, &f, "/v4/regions")
	if err != nil {
		return nil, err
	}
	rows, err := fetchAll[Availability](ctx, &f, "/v4/regions/availability")
	if err != nil {
		return nil, err
	}
	if len(plans) == 0 || len(regions) == 0 {
		return nil, fmt.Errorf("catalog of %s: %d plans and %d regions: not a price list", f.base, len(plans), len(regions))
	}
	c, err := New(f.date, f.base, plans, regions, rows)
	if err != nil {
		return nil, fmt.Errorf("catalog of %s: %w", f.base, err)
	}
	return c, nil
}

type fetcher struct {
	client *http.Client
	base   string
	date   string
}

// page is the envelope of every list in the API.
type page[T any] struct {
	Data    []T `json:"data"`
	Page    int `json:"page"`
	Pages   int `json:"pages"`
	Results int `json:"results"`
}

func fetchAll[T any](ctx context.Context, f *fetcher, path string) ([]T, error) {
	var rows []T
	for n := 1; ; n++ {
		url := fmt.Sprintf("%s%s?page=%d&page_size=%d", f.base, path, n, pageSize)
		var p page[T]
		if err := f.get(ctx, url, &p); err != nil {
			return nil, err
		}
		rows = append(rows, p.Data...)
		if n >= p.Pages {
			return rows, nil
		}
		if n == maxPages {
			return nil, fmt.Errorf("get %s: more than %d pages", url, maxPages)
		}
	}
}

func (f *fetcher) get(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("get %s: %w", url, err)
	}
	req.Header.Set("Accept", "application/json")
	res, err := f.client.Do(req)
	if err != nil {
		return err // net/http adds the method and the URL
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	switch {
	case err != nil:
		return fmt.Errorf("get %s: %w", url, err)
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("get %s: status %s: %.200s", url, res.Status, strings.TrimSpace(string(body)))
	case len(body) > maxBody:
		return fmt.Errorf("get %s: answer is larger than %d bytes", url, maxBody)
	}
	// The date is that of the answer, so that no local clock is needed.
	if t, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		f.date = t.UTC().Format(time.DateOnly)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("get %s: decode answer: %w", url, err)
	}
	return nil
}
