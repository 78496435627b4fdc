import { forceCollide, forceLink, forceManyBody, forceSimulation, forceX, forceY } from 'd3-force'
import type { Simulation, SimulationLinkDatum, SimulationNodeDatum } from 'd3-force'

/** Input of a layout. Plain data, because it may be sent to another thread. */
export interface LayoutRequest {
  readonly count: number
  readonly from: Uint32Array
  readonly to: Uint32Array
  readonly degree: Uint32Array
}

/** Alternating x and y. */
export type NodePositions = Float32Array

/** Above this size a layout would block the page, so it runs in a thread. */
export const INLINE_PIECES = 1000
/** Above this size forces are weaker and less exact, because single lines cannot be followed anyway. */
const LARGE_NODES = 1500
/** More springs than this do not improve the layout. */
const MAX_LINKS = 40_000
const STEPS_PER_REPORT = 4
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5))

/** Start positions: the best connected in the middle. The same graph gives the same drawing. */
export function firstPositions({ count, degree }: LayoutRequest): NodePositions {
  const order = Array.from({ length: count }, (_, i) => i).sort((a, b) => (degree[b] ?? 0) - (degree[a] ?? 0) || a - b)
  const positions = new Float32Array(count * 2)
  for (const [rank, node] of order.entries()) {
    const reach = 34 * Math.sqrt(rank)
    positions[node * 2] = reach * Math.cos(rank * GOLDEN_ANGLE)
    positions[node * 2 + 1] = reach * Math.sin(rank * GOLDEN_ANGLE)
  }
  return positions
}

export interface RunningLayout {
  /** Runs some steps. Returns false when the layout is stable. */
  step(): boolean
  readonly positions: NodePositions
}

export function openLayout(request: LayoutRequest): RunningLayout {
  const positions = firstPositions(request)
  const nodes: SimulationNodeDatum[] = Array.from({ length: request.count }, (_, i) => ({
    x: positions[i * 2] ?? 0,
    y: positions[i * 2 + 1] ?? 0,
  }))
  const simulation = simulate(nodes, linksOf(request), request.count)
  return {
    positions,
    step() {
      simulation.tick(STEPS_PER_REPORT)
      for (const [i, node] of nodes.entries()) {
        positions[i * 2] = node.x ?? 0
        positions[i * 2 + 1] = node.y ?? 0
      }
      return simulation.alpha() > simulation.alphaMin()
    },
  }
}

function simulate(
  nodes: SimulationNodeDatum[],
  links: SimulationLinkDatum<SimulationNodeDatum>[],
  count: number,
): Simulation<SimulationNodeDatum, undefined> {
  const isLarge = count > LARGE_NODES
  return forceSimulation(nodes)
    .stop()
    .alphaDecay(isLarge ? 0.06 : 0.03)
    .force('link', forceLink(links).distance(isLarge ? 30 : 90))
    .force(
      'charge',
      forceManyBody()
        .strength(isLarge ? -40 : -260)
        .theta(isLarge ? 1.2 : 0.9),
    )
    .force('collide', isLarge ? null : forceCollide(26))
    .force('x', forceX(0).strength(0.04))
    .force('y', forceY(0).strength(0.06))
}

/** Uses every n-th edge when there are too many. */
function linksOf({ from, to }: LayoutRequest): SimulationLinkDatum<SimulationNodeDatum>[] {
  const stride = Math.max(1, Math.ceil(from.length / MAX_LINKS))
  const links: SimulationLinkDatum<SimulationNodeDatum>[] = []
  for (let i = 0; i < from.length; i += stride) {
    const [source, target] = [from[i], to[i]]
    if (source !== undefined && target !== undefined && source !== target) links.push({ source, target })
  }
  return links
}
