package graph

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// The measures of a drawing, in pixels. A character of the monospaced font is
// as wide as given.
const (
	charWidth   = 7.3
	padding     = 12.0
	boxHeight   = 26.0
	rowGap      = 14.0
	passGap     = 10.0 // between arrows that pass a column
	columnGap   = 90.0
	borderWidth = 24.0
)

// A box is a node with its place, or a point at which an arrow passes a column
// on its way to a later one.
type box struct {
	node   *Node // nil for a point
	column int
	x, y   float64 // of the left end, in the middle of the height
	width  float64

	before, after []*box // along the arrows, in the neighbouring columns
}

func (b *box) height() float64 {
	if b.node == nil {
		return passGap
	}
	return boxHeight + rowGap
}

// A layout is a drawing: boxes in columns, arrows from left to right.
type layout struct {
	columns       [][]*box
	arrows        [][]*box // each is a way through boxes
	width, height float64
}

// newLayout places the nodes of a graph: one below the other those that have
// no connection, the largest groups first.
func newLayout(g Graph) *layout {
	all := &layout{width: 2 * borderWidth, height: borderWidth}
	for _, part := range g.parts() {
		l := layoutOf(part)
		for _, column := range l.columns {
			for _, b := range column {
				b.y += all.height
			}
		}
		all.columns = append(all.columns, l.columns...)
		all.arrows = append(all.arrows, l.arrows...)
		all.width = max(all.width, l.width)
		all.height += l.height + rowGap
	}
	all.height += borderWidth
	return all
}

// parts splits a graph into groups of nodes that are connected.
func (g Graph) parts() []Graph {
	near := map[string][]string{}
	for _, e := range g.Edges {
		near[e.From], near[e.To] = append(near[e.From], e.To), append(near[e.To], e.From)
	}
	number := map[string]int{}
	var parts []Graph
	for _, n := range g.Nodes {
		if _, seen := number[n.ID]; seen {
			continue
		}
		number[n.ID] = len(parts)
		for reached := []string{n.ID}; len(reached) > 0; {
			id := reached[0]
			reached = reached[1:]
			for _, other := range near[id] {
				if _, seen := number[other]; !seen {
					number[other] = len(parts)
					reached = append(reached, other)
				}
			}
		}
		parts = append(parts, Graph{})
	}
	for _, n := range g.Nodes {
		part := &parts[number[n.ID]]
		part.Nodes = append(part.Nodes, n)
	}
	for _, e := range g.Edges {
		part := &parts[number[e.From]]
		part.Edges = append(part.Edges, e)
	}
	slices.SortStableFunc(parts, func(a, b Graph) int { return len(b.Nodes) - len(a.Nodes) })
	return parts
}

// layoutOf places nodes that are connected. It is the method of Sugiyama:
// columns by the longest way, points where arrows pass columns, an order with
// few crossings, and then each box near those it is connected with.
func layoutOf(g Graph) *layout {
	l := &layout{}
	boxes := map[string]*box{}
	column := columnsOf(g)
	for i := range g.Nodes {
		n := &g.Nodes[i]
		b := &box{node: n, column: column[n.ID], width: 2*padding + charWidth*float64(utf8.RuneCountInString(printable(n.ID)))}
		boxes[n.ID] = b
		l.add(b)
	}
	for _, e := range g.Edges {
		l.connect(boxes[e.From], boxes[e.To])
	}
	l.untangle()
	l.place()
	return l
}

// columnsOf puts each node to the right of all that refer to it. Of names that
// refer to each other, which is an error, one reference is not looked at.
func columnsOf(g Graph) map[string]int {
	users := map[string][]string{}
	for _, e := range g.Edges {
		users[e.To] = append(users[e.To], e.From)
	}
	column, busy := map[string]int{}, map[string]bool{}
	var visit func(id string) int
	visit = func(id string) int {
		if c, done := column[id]; done {
			return c
		}
		if busy[id] {
			return -1
		}
		busy[id] = true
		c := 0
		for _, user := range users[id] {
			c = max(c, visit(user)+1)
		}
		column[id] = c
		return c
	}
	for _, n := range g.Nodes {
		visit(n.ID)
	}
	return column
}

func (l *layout) add(b *box) {
	for len(l.columns) <= b.column {
		l.columns = append(l.columns, nil)
	}
	l.columns[b.column] = append(l.columns[b.column], b)
}

// connect makes the way of an arrow, with a point in each column between. An
// arrow that goes back, in a circle, has no points.
func (l *layout) connect(from, to *box) {
	way := []*box{from}
	for column := from.column + 1; column < to.column; column++ {
		point := &box{column: column}
		l.add(point)
		way = append(way, point)
	}
	way = append(way, to)
	l.arrows = append(l.arrows, way)
	for i := range len(way) - 1 {
		if way[i].column < way[i+1].column {
			way[i].after = append(way[i].after, way[i+1])
			way[i+1].before = append(way[i+1].before, way[i])
		}
	}
}

// untangle orders each column by where its neighbours are, to and fro.
func (l *layout) untangle() {
	rank := map[*box]float64{}
	number := func(column []*box) {
		for i, b := range column {
			rank[b] = float64(i) / float64(len(column))
		}
	}
	for _, column := range l.columns {
		number(column)
	}
	sortBy := func(column []*box, neighbours func(*box) []*box) {
		wish := map[*box]float64{}
		for _, b := range column {
			wish[b] = mean(neighbours(b), func(n *box) float64 { return rank[n] }, rank[b])
		}
		slices.SortStableFunc(column, func(a, b *box) int { return cmp.Compare(wish[a], wish[b]) })
		number(column)
	}
	for range 8 {
		for _, column := range l.columns {
			sortBy(column, func(b *box) []*box { return b.before })
		}
		for _, column := range slices.Backward(l.columns) {
			sortBy(column, func(b *box) []*box { return b.after })
		}
	}
}

// place gives each box its coordinates.
func (l *layout) place() {
	x := borderWidth
	for _, column := range l.columns {
		width := 0.0
		for _, b := range column {
			width = max(width, b.width)
		}
		y := 0.0
		for _, b := range column {
			b.x, b.y = x, y+b.height()/2
			if y += b.height(); b.node == nil {
				b.width = width // the arrow passes the whole column
			}
		}
		x += width + columnGap
	}
	for range 12 {
		for _, column := range l.columns {
			settle(column, func(b *box) []*box { return b.before })
		}
		for _, column := range slices.Backward(l.columns) {
			settle(column, func(b *box) []*box { return b.after })
		}
	}
	l.frame(x - columnGap + borderWidth)
}

// settle moves each box of a column towards its neighbours, as far as the
// order and the gaps allow: once pushing downwards, once upwards, and then to
// the middle of the two.
func settle(column []*box, neighbours func(*box) []*box) {
	down, up := make([]float64, len(column)), make([]float64, len(column))
	for i, b := range column {
		wish := mean(neighbours(b), func(n *box) float64 { return n.y }, b.y)
		down[i], up[i] = wish, wish
		if i > 0 {
			down[i] = max(wish, down[i-1]+(column[i-1].height()+b.height())/2)
		}
	}
	for i := len(column) - 2; i >= 0; i-- {
		up[i] = min(up[i], up[i+1]-(column[i].height()+column[i+1].height())/2)
	}
	for i, b := range column {
		b.y = (down[i] + up[i]) / 2
	}
}

// frame moves everything so that it begins at the top.
func (l *layout) frame(width float64) {
	top, bottom := 0.0, 0.0
	for i, column := range l.columns {
		for j, b := range column {
			if i+j == 0 {
				top, bottom = b.y, b.y
			}
			top, bottom = min(top, b.y-boxHeight/2), max(bottom, b.y+boxHeight/2)
		}
	}
	for _, column := range l.columns {
		for _, b := range column {
			b.y -= top
		}
	}
	l.width, l.height = width, bottom-top
}

// mean is the mean of a measure of boxes, or a value where there are none.
func mean(boxes []*box, measure func(*box) float64, none float64) float64 {
	if len(boxes) == 0 {
		return none
	}
	sum := 0.0
	for _, b := range boxes {
		sum += measure(b)
	}
	return sum / float64(len(boxes))
}
