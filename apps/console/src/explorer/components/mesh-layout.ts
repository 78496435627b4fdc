import type { MeshLink, MeshMember } from '@chancery/contract'

export interface Point {
  readonly x: number
  readonly y: number
}

/** Size of the drawing, depending on the window and the number of domains. */
export interface Frame {
  readonly width: number
  readonly height: number
  /** Margin at the sides, for members and names. */
  readonly margin: Point
  /** Radius of a domain. */
  readonly radius: number
  /** Distance from a domain to its members. */
  readonly reach: number
  /** Maximum length of a name. */
  readonly letters: number
  readonly hasMemberNames: boolean
  /** In two columns, because names would overlap on a narrow ring. */
  readonly isColumns: boolean
}

const FEW = 6
const FRAMES = {
  wide: {
    few: { width: 900, height: 420, margin: { x: 215, y: 75 }, radius: 22, reach: 64, letters: 22 },
    many: { width: 900, height: 600, margin: { x: 110, y: 75 }, radius: 18, reach: 40, letters: 13 },
  },
  narrow: {
    few: { width: 340, height: 330, margin: { x: 72, y: 70 }, radius: 22, reach: 46, letters: 12 },
    many: { width: 340, height: 620, margin: { x: 62, y: 60 }, radius: 15, reach: 30, letters: 10 },
  },
} as const

export function chooseFrame(count: number, isNarrow: boolean): Frame {
  const isFew = count <= FEW
  // With more domains the names of members would overlap. The list next to the drawing has them all.
  return {
    ...FRAMES[isNarrow ? 'narrow' : 'wide'][isFew ? 'few' : 'many'],
    hasMemberNames: isFew && !isNarrow,
    isColumns: isNarrow && !isFew,
  }
}

const MEMBERS_DRAWN = 6
/** Angle that the members occupy on the outer side of their domain. */
const FAN = (100 / 180) * Math.PI
const BEND = 0.14
const ARROW = 10

/** Puts domains on an ellipse, in the order of the document, so that the same mesh gives the same drawing. */
export function placeDomains(count: number, frame: Frame): readonly Point[] {
  const { width, height, margin } = frame
  if (frame.isColumns) return placeInColumns(count, frame)
  const centre = { x: width / 2, y: height / 2 }
  if (count === 1) return [centre]
  const reach = { x: width / 2 - margin.x, y: height / 2 - margin.y }
  // Two domains are next to each other; more start at the top.
  const start = count === 2 ? Math.PI : -Math.PI / 2
  const round = Array.from({ length: count }, (_, i) => {
    const angle = start + (i * 2 * Math.PI) / count
    return { x: centre.x + reach.x * Math.cos(angle), y: reach.y * Math.sin(angle) }
  })
  // Centres a triangle, which extends less far down than up.
  const heights = round.map(({ y }) => y)
  const middle = (Math.min(...heights) + Math.max(...heights)) / 2
  return round.map(({ x, y }) => ({ x, y: centre.y + y - middle }))
}

/** Goes down on the right and up on the left, so that neighbours stay neighbours. */
function placeInColumns(count: number, { width, height, margin }: Frame): readonly Point[] {
  const rows = Math.ceil(count / 2)
  const step = (height - 2 * margin.y) / Math.max(1, rows - 1)
  return Array.from({ length: count }, (_, i) =>
    i < rows
      ? { x: width - margin.x, y: margin.y + i * step }
      : { x: margin.x, y: margin.y + (2 * rows - 1 - i) * step },
  )
}

/** Names are on the outer side of their domain, since treaties end on the inner side. */
export function isAbove({ y }: Point, { height }: Frame): boolean {
  return y <= height / 2
}

export interface PlacedMember {
  readonly member: MeshMember
  readonly at: Point
}

/** Puts up to six members on the left or right, away from the middle, so that names do not overlap. */
export function placeMembers(
  members: readonly MeshMember[],
  domain: Point,
  { width, reach }: Frame,
): readonly PlacedMember[] {
  const shown = members.slice(0, MEMBERS_DRAWN)
  // Rounded, because the computed middle of a circle is not exact.
  const side = Math.round(domain.x) < Math.round(width / 2) ? -1 : 1
  const step = FAN / (MEMBERS_DRAWN - 1)
  return shown.map((member, i) => {
    const angle = (i - (shown.length - 1) / 2) * step
    return { member, at: { x: domain.x + side * reach * Math.cos(angle), y: domain.y + reach * Math.sin(angle) } }
  })
}

export interface DrawnLink {
  readonly link: MeshLink
  /** Several treaties of the same pair and direction share one line. */
  readonly count: number
  readonly path: string
  readonly arrow: string
}

/** Draws one curve per pair and direction. The curves of the two directions do not overlap. */
export function drawLinks(
  links: readonly MeshLink[],
  positions: ReadonlyMap<string, Point>,
  radius: number,
): readonly DrawnLink[] {
  const pairs = Map.groupBy(links, ({ from, to }) => `${from}\0${to}`)
  return [...pairs.values()].flatMap((same) => {
    const [link] = same
    const [from, to] = [positions.get(link?.from ?? ''), positions.get(link?.to ?? '')]
    if (link === undefined || from === undefined || to === undefined) return []
    return [{ link, count: same.length, ...bend(from, to, radius) }]
  })
}

function bend(from: Point, to: Point, radius: number): { readonly path: string; readonly arrow: string } {
  const middle = {
    x: (from.x + to.x) / 2 - (to.y - from.y) * BEND,
    y: (from.y + to.y) / 2 + (to.x - from.x) * BEND,
  }
  const start = towards(from, middle, radius + 2)
  const tip = towards(to, middle, radius + 4)
  const angle = Math.atan2(tip.y - middle.y, tip.x - middle.x)
  const end = towards(tip, middle, ARROW * 0.7)
  const sides = [0.45, -0.45].map((side) => ({
    x: tip.x - ARROW * Math.cos(angle + side),
    y: tip.y - ARROW * Math.sin(angle + side),
  }))
  return {
    path: `M${write(start)} Q${write(middle)} ${write(end)}`,
    arrow: [tip, ...sides].map(write).join(' '),
  }
}

function towards(from: Point, to: Point, distance: number): Point {
  const length = Math.max(1, Math.hypot(to.x - from.x, to.y - from.y))
  return { x: from.x + ((to.x - from.x) * distance) / length, y: from.y + ((to.y - from.y) * distance) / length }
}

function write({ x, y }: Point): string {
  return `${x.toFixed(1)},${y.toFixed(1)}`
}
