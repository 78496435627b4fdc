// oxlint-disable max-lines -- one drawing, in the order of its layers
import { type Graph, TONES, type Tone } from './graph.ts'
import type { NodePositions } from './layout.ts'

/** Screen position = graph position × scale + (x, y). */
export interface Camera {
  readonly x: number
  readonly y: number
  readonly scale: number
}

export interface Highlight {
  readonly node: number | undefined
  /** Edges of a path, drawn on top. */
  readonly path: readonly number[]
  /** Edges that would end or have ended, drawn crossed out. */
  readonly cut: readonly number[]
  /** Networks that lose a path. */
  readonly touched: readonly number[]
}

export const NOTHING_MARKED: Highlight = { node: undefined, path: [], cut: [], touched: [] }

/** Draws every n-th of very many treaties, because all of them would take seconds and look the same. */
export const DRAWN_EDGES = { moving: 1500, still: 50_000 } as const

export function strideOf(graph: Graph, most: number): number {
  return Math.max(1, Math.ceil(graph.from.length / most))
}

type Palette = Readonly<Record<Tone | 'ink' | 'surface' | 'accent' | 'quiet', string>>

const DASHES: Readonly<Record<Tone, readonly number[]>> = {
  good: [],
  watch: [],
  urgent: [14, 3],
  bad: [7, 4],
  ended: [2, 5],
}
const MANY_EDGES = 1500
const MAX_LABELS = 120

/** Colours of the style sheet, for dark and light mode. */
export function readPalette(): Palette {
  const style = getComputedStyle(document.documentElement)
  const of = (name: string): string => style.getPropertyValue(`--${name}`).trim()
  return {
    good: of('good'),
    watch: of('watch'),
    urgent: of('urgent'),
    bad: of('bad'),
    ended: of('ended'),
    ink: of('ink'),
    surface: of('surface'),
    accent: of('accent'),
    quiet: of('quiet'),
  }
}

export function nodeRadius(graph: Graph, node: number): number {
  return 5 + Math.min(9, Math.sqrt(graph.degree[node] ?? 0))
}

/** Draws one frame. Lines of one tone are one stroke, because 200,000 strokes would take seconds. */
export function drawGraph(
  context: CanvasRenderingContext2D,
  graph: Graph,
  positions: NodePositions,
  camera: Camera,
  highlight: Highlight,
  mostEdges: number = DRAWN_EDGES.still,
): void {
  const { canvas } = context
  const stride = strideOf(graph, mostEdges)
  const ratio = devicePixelRatio
  const palette = readPalette()
  context.setTransform(1, 0, 0, 1, 0, 0)
  context.clearRect(0, 0, canvas.width, canvas.height)
  context.setTransform(ratio * camera.scale, 0, 0, ratio * camera.scale, ratio * camera.x, ratio * camera.y)
  const isCrowded = graph.from.length > MANY_EDGES
  for (const tone of TONES) {
    context.beginPath()
    for (let edge = 0; edge < graph.from.length; edge += stride) {
      if (graph.reported[edge] !== 1 && graph.tone[edge] === tone) traceEdge(context, graph, positions, edge, isCrowded)
    }
    context.strokeStyle = palette[tone]
    context.globalAlpha = isCrowded ? 0.16 : 0.9
    context.lineWidth = (isCrowded ? 0.7 : 1.6) / camera.scale
    context.setLineDash(isCrowded ? [] : DASHES[tone].map((length) => length / camera.scale))
    context.stroke()
  }
  drawReported(context, graph, positions, palette, camera, stride)
  context.globalAlpha = 1
  context.setLineDash([])
  if (!isCrowded) drawArrows(context, graph, positions, palette)
  drawLine(context, graph, positions, highlight.path, palette.accent, camera)
  drawLine(context, graph, positions, highlight.cut, palette.bad, camera)
  drawCrosses(context, graph, positions, highlight.cut, palette, camera)
  drawNodes(context, graph, positions, camera, highlight, palette)
}

/** Treaties that partners report are dashed, in every size of the graph. */
function drawReported(
  context: CanvasRenderingContext2D,
  graph: Graph,
  positions: NodePositions,
  palette: Palette,
  camera: Camera,
  stride: number,
): void {
  const isCrowded = graph.from.length > MANY_EDGES
  context.beginPath()
  for (let edge = 0; edge < graph.from.length; edge += stride)
    if (graph.reported[edge] === 1) traceEdge(context, graph, positions, edge, isCrowded)
  context.strokeStyle = palette.quiet
  context.globalAlpha = isCrowded ? 0.3 : 0.9
  context.lineWidth = (isCrowded ? 0.7 : 1.6) / camera.scale
  context.setLineDash([6, 5].map((length) => length / camera.scale))
  context.stroke()
}

/** Curved, so that two networks that recognise each other have two lines. */
function traceEdge(
  context: CanvasRenderingContext2D,
  graph: Graph,
  positions: NodePositions,
  edge: number,
  isStraight: boolean,
): void {
  const [a, b] = [(graph.from[edge] ?? 0) * 2, (graph.to[edge] ?? 0) * 2]
  const [ax, ay, bx, by] = [positions[a] ?? 0, positions[a + 1] ?? 0, positions[b] ?? 0, positions[b + 1] ?? 0]
  context.moveTo(ax, ay)
  if (isStraight) context.lineTo(bx, by)
  else context.quadraticCurveTo((ax + bx) / 2 - (by - ay) * 0.08, (ay + by) / 2 + (bx - ax) * 0.08, bx, by)
}

/** One shape per tone, like the lines. */
function drawArrows(context: CanvasRenderingContext2D, graph: Graph, positions: NodePositions, palette: Palette): void {
  for (const tone of TONES) {
    context.beginPath()
    for (let edge = 0; edge < graph.from.length; edge += 1)
      if (graph.reported[edge] !== 1 && graph.tone[edge] === tone) traceArrow(context, graph, positions, edge)
    context.fillStyle = palette[tone]
    context.fill()
  }
  context.beginPath()
  for (let edge = 0; edge < graph.from.length; edge += 1)
    if (graph.reported[edge] === 1) traceArrow(context, graph, positions, edge)
  context.fillStyle = palette.quiet
  context.fill()
}

function traceArrow(context: CanvasRenderingContext2D, graph: Graph, positions: NodePositions, edge: number): void {
  const [a, b] = [graph.from[edge] ?? 0, graph.to[edge] ?? 0]
  const [ax, ay] = [positions[a * 2] ?? 0, positions[a * 2 + 1] ?? 0]
  const [bx, by] = [positions[b * 2] ?? 0, positions[b * 2 + 1] ?? 0]
  // The arrow points along the end of the curve.
  const [cx, cy] = [(ax + bx) / 2 - (by - ay) * 0.08, (ay + by) / 2 + (bx - ax) * 0.08]
  const angle = Math.atan2(by - cy, bx - cx)
  const gap = nodeRadius(graph, b) + 2
  const [tipX, tipY] = [bx - Math.cos(angle) * gap, by - Math.sin(angle) * gap]
  context.moveTo(tipX, tipY)
  for (const side of [0.4, -0.4]) context.lineTo(tipX - Math.cos(angle + side) * 9, tipY - Math.sin(angle + side) * 9)
  context.closePath()
}

/** Draws edges on top of all others. */
function drawLine(
  context: CanvasRenderingContext2D,
  graph: Graph,
  positions: NodePositions,
  edges: readonly number[],
  color: string,
  camera: Camera,
): void {
  if (edges.length === 0) return
  context.beginPath()
  for (const edge of edges) traceEdge(context, graph, positions, edge, graph.from.length > MANY_EDGES)
  context.strokeStyle = color
  context.lineWidth = 5 / camera.scale
  context.globalAlpha = 0.75
  context.stroke()
  context.globalAlpha = 1
}

const MAX_CROSSES = 200

/** Marks the middle of an ending edge, so that colour is not the only sign. */
function drawCrosses(
  context: CanvasRenderingContext2D,
  graph: Graph,
  positions: NodePositions,
  edges: readonly number[],
  palette: Palette,
  camera: Camera,
): void {
  const arm = 8 / camera.scale
  context.beginPath()
  for (const edge of edges.slice(0, MAX_CROSSES)) {
    const [a, b] = [(graph.from[edge] ?? 0) * 2, (graph.to[edge] ?? 0) * 2]
    const [ax, ay, bx, by] = [positions[a] ?? 0, positions[a + 1] ?? 0, positions[b] ?? 0, positions[b + 1] ?? 0]
    // A quadratic curve passes halfway between its chord and its control point.
    const bend = graph.from.length > MANY_EDGES ? 0 : 0.04
    const [x, y] = [(ax + bx) / 2 - (by - ay) * bend, (ay + by) / 2 + (bx - ax) * bend]
    for (const side of [1, -1]) {
      context.moveTo(x - arm, y - arm * side)
      context.lineTo(x + arm, y + arm * side)
    }
  }
  context.strokeStyle = palette.bad
  context.lineWidth = 3 / camera.scale
  context.stroke()
}

function drawNodes(
  context: CanvasRenderingContext2D,
  graph: Graph,
  positions: NodePositions,
  camera: Camera,
  highlight: Highlight,
  palette: Palette,
): void {
  const touched = new Set(highlight.touched)
  const ends = [...highlight.path, ...highlight.cut].flatMap((edge) => [graph.from[edge] ?? 0, graph.to[edge] ?? 0])
  const marked = new Set([...ends, ...touched])
  context.lineWidth = 2 / camera.scale
  context.strokeStyle = palette.surface
  // All other networks are one shape, because 10,000 shapes would take seconds.
  context.beginPath()
  for (let node = 0; node < graph.ids.length; node += 1)
    if (!marked.has(node) && highlight.node !== node) traceNode(context, graph, positions, camera, node, 0)
  context.fillStyle = palette.accent
  context.fill()
  // At a small scale an outline would hide the circle.
  if (camera.scale > 0.35) context.stroke()
  for (const node of highlight.node === undefined ? marked : new Set([...marked, highlight.node])) {
    context.beginPath()
    traceNode(context, graph, positions, camera, node, 3 / camera.scale)
    context.fillStyle = highlight.node === node ? palette.ink : touched.has(node) ? palette.bad : palette.accent
    context.fill()
    context.stroke()
  }
  context.font = `${13 / camera.scale}px system-ui, sans-serif`
  context.textAlign = 'center'
  context.lineJoin = 'round'
  context.lineWidth = 4 / camera.scale
  context.fillStyle = palette.ink
  const middle = middleOf(positions)
  for (const node of labelled(graph, marked, highlight.node)) {
    // On the outer side, where no line ends.
    const [x, centre] = [positions[node * 2] ?? 0, positions[node * 2 + 1] ?? 0]
    const gap = nodeRadius(graph, node) + (centre < middle ? 6 : 15) / camera.scale
    const y = centre < middle ? centre - gap : centre + gap
    const name = graph.ids[node] ?? ''
    const text = name.length > 24 ? `${name.slice(0, 23)}…` : name
    context.strokeText(text, x, y)
    context.fillText(text, x, y)
  }
}

function middleOf(positions: NodePositions): number {
  let sum = 0
  for (let at = 1; at < positions.length; at += 2) sum += positions[at] ?? 0
  return (sum * 2) / Math.max(2, positions.length)
}

function traceNode(
  context: CanvasRenderingContext2D,
  graph: Graph,
  positions: NodePositions,
  camera: Camera,
  node: number,
  more: number,
): void {
  const [x, y] = [positions[node * 2] ?? 0, positions[node * 2 + 1] ?? 0]
  const radius = Math.max(nodeRadius(graph, node), 1.5 / camera.scale) + more
  context.moveTo(x + radius, y)
  context.arc(x, y, radius, 0, 7)
}

/** Shows all names of a small graph, and in a large one the selected and the best connected. */
function labelled(graph: Graph, marked: ReadonlySet<number>, chosen: number | undefined): readonly number[] {
  const all = graph.ids.map((_, node) => node)
  if (all.length <= MAX_LABELS) return all
  const busiest = all.sort((a, b) => (graph.degree[b] ?? 0) - (graph.degree[a] ?? 0)).slice(0, 12)
  return [...new Set([...busiest, ...[...marked].slice(0, MAX_LABELS), ...(chosen === undefined ? [] : [chosen])])]
}

/** Returns the network or edge at a point of the screen; networks first. */
export function findUnder(
  graph: Graph,
  positions: NodePositions,
  camera: Camera,
  x: number,
  y: number,
): { readonly node: number } | { readonly edge: number } | undefined {
  const [wx, wy] = [(x - camera.x) / camera.scale, (y - camera.y) / camera.scale]
  let best: { readonly node: number } | { readonly edge: number } | undefined
  let nearest = 10 / camera.scale
  for (let node = 0; node < graph.ids.length; node += 1) {
    const distance =
      Math.hypot((positions[node * 2] ?? 0) - wx, (positions[node * 2 + 1] ?? 0) - wy) - nodeRadius(graph, node)
    if (distance < nearest) [best, nearest] = [{ node }, Math.max(0, distance)]
  }
  if (best !== undefined || graph.from.length > MANY_EDGES) return best
  nearest = 7 / camera.scale
  for (let edge = 0; edge < graph.from.length; edge += 1) {
    const distance = distanceToEdge(graph, positions, edge, wx, wy)
    if (distance < nearest) [best, nearest] = [{ edge }, distance]
  }
  return best
}

function distanceToEdge(graph: Graph, positions: NodePositions, edge: number, x: number, y: number): number {
  const [a, b] = [(graph.from[edge] ?? 0) * 2, (graph.to[edge] ?? 0) * 2]
  const [ax, ay, bx, by] = [positions[a] ?? 0, positions[a + 1] ?? 0, positions[b] ?? 0, positions[b + 1] ?? 0]
  const [cx, cy] = [(ax + bx) / 2 - (by - ay) * 0.08, (ay + by) / 2 + (bx - ax) * 0.08]
  let nearest = Infinity
  for (let step = 0; step <= 20; step += 1) {
    const t = step / 20
    const [u, v, w] = [(1 - t) * (1 - t), 2 * (1 - t) * t, t * t]
    nearest = Math.min(nearest, Math.hypot(u * ax + v * cx + w * bx - x, u * ay + v * cy + w * by - y))
  }
  return nearest
}

/** Returns the view that shows everything with a margin. */
export function fitCamera(positions: NodePositions, width: number, height: number): Camera {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity]
  for (let i = 0; i < positions.length; i += 2) {
    const [x, y] = [positions[i] ?? 0, positions[i + 1] ?? 0]
    ;[left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)]
  }
  if (left > right) return { x: width / 2, y: height / 2, scale: 1 }
  // Margin for half a name on either side.
  const scale = Math.min(1.6, (width - 140) / Math.max(1, right - left), (height - 80) / Math.max(1, bottom - top))
  return { x: width / 2 - ((left + right) / 2) * scale, y: height / 2 - ((top + bottom) / 2) * scale, scale }
}
