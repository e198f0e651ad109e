package sim

import (
	"net/url"
	"slices"
	"strconv"
)

// page is the envelope of each list except one.
type page[T any] struct {
	Data    []T `json:"data"`
	Page    int `json:"page"`
	Pages   int `json:"pages"`
	Results int `json:"results"`
}

const (
	minPageSize     = 25
	defaultPageSize = 100
	maxPageSize     = 500
)

// listPage returns the requested page of the items that match the filter, which may use the given fields. Lists without
// fields reject filters, because lkeplan sends none.
func listPage[T any](q *request, items []T, fields ...string) (any, error) {
	if len(fields) > 0 {
		picks, err := parseFilter(q.http.Header.Get("X-Filter"), fields...)
		if err != nil {
			return nil, err
		}
		if picks != nil {
			items = slices.DeleteFunc(slices.Clone(items), func(item T) bool { return !picks(rowOf(item)) })
		}
	}
	number, size, err := readPaging(q.http.URL.Query())
	if err != nil {
		return nil, err
	}
	pages := max(1, (len(items)+size-1)/size)
	if number > pages {
		return nil, notFound() // assumption
	}
	from := (number - 1) * size
	data := append([]T{}, items[from:min(from+size, len(items))]...)
	return page[T]{Data: data, Page: number, Pages: pages, Results: len(items)}, nil
}

func viewsOf[T, V any](items []T, view func(T) V) []V {
	var all []V
	for _, item := range items {
		all = append(all, view(item))
	}
	return all
}

// readPaging reads page and page_size. The error text for page_size was observed; that for page is an assumption.
func readPaging(query url.Values) (number, size int, err error) {
	var c requestChecker
	number, size = 1, defaultPageSize
	if text := query.Get("page"); text != "" {
		number, err = strconv.Atoi(text)
		c.must(err == nil && number >= 1, "page", "Must be 1 or greater")
	}
	if text := query.Get("page_size"); text != "" {
		size, err = strconv.Atoi(text)
		c.must(err == nil && size >= minPageSize &&
			size <= maxPageSize, "page_size", "Must be %d-%d", minPageSize, maxPageSize)
	}
	return number, size, c.error()
}
