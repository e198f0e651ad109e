package graph

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// SVG draws the graph: what refers on the left, what is referred to on the
// right. It needs no other program.
func (g Graph) SVG(w io.Writer) error {
	l := newLayout(g)
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="12">
<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>
<rect width="100%%" height="100%%" fill="#fff"/>
`, l.width, l.height, l.width, l.height)
	for _, way := range l.arrows {
		fmt.Fprintf(out, "<path d=\"%s\" fill=\"none\" stroke=\"#999\" marker-end=\"url(#arrow)\"/>\n", curve(way))
	}
	for _, column := range l.columns {
		for _, b := range column {
			if b.node != nil {
				b.draw(out)
			}
		}
	}
	fmt.Fprint(out, "</svg>\n")
	return out.Flush()
}

func (b *box) draw(w io.Writer) {
	fmt.Fprintf(w, "<g><title>%s</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\" fill=\"%s\" stroke=\"#888\"/>",
		escape(fmt.Sprintf("%s (%s:%d)", b.node.ID, b.node.File, b.node.Line)), b.x, b.y-boxHeight/2, b.width, boxHeight, color(b.node.Kind))
	fmt.Fprintf(w, "<text x=\"%.1f\" y=\"%.1f\" textLength=\"%.1f\" fill=\"#222\">%s</text></g>\n",
		b.x+padding, b.y+4, b.width-2*padding, escape(b.node.ID))
}

// curve is the path of an arrow: level where it leaves, passes and arrives.
func curve(way []*box) string {
	var path strings.Builder
	x, y := way[0].x+way[0].width, way[0].y
	fmt.Fprintf(&path, "M%.1f,%.1f", x, y)
	for _, to := range way[1:] {
		bend := max((to.x-x)/2, columnGap/2) // at least that where an arrow goes back
		fmt.Fprintf(&path, " C%.1f,%.1f %.1f,%.1f %.1f,%.1f", x+bend, y, to.x-bend, to.y, to.x, to.y)
		if x, y = to.x, to.y; to.node == nil {
			x += to.width
			fmt.Fprintf(&path, " L%.1f,%.1f", x, y)
		}
	}
	return path.String()
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(printable(text))) // a Builder takes everything
	return b.String()
}
