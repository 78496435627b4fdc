import type { MeshLink, MeshMember } from '@chancery/contract'

export interface Point {
  readonly x: number
  readonly y: number
}

/** The sheet a mesh is drawn on, by the room there is and the number of domains. */
export interface Frame {
  readonly width: number
  readonly height: number
  /** Left free at the sides, for members and names. */
  readonly margin: Point
  /** Of a domain. */
  readonly radius: number
  /** From a domain to its members. */
  readonly reach: number
  /** Of a name; the rest is cut. */
  readonly letters: number
  readonly hasMemberNames: boolean
  /** In two columns: on a narrow ring the names at its ends would lie on each other. */
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
  // With more domains the names of members would lie on each other; the list beside the picture has them all.
  return {
    ...FRAMES[isNarrow ? 'narrow' : 'wide'][isFew ? 'few' : 'many'],
    hasMemberNames: isFew && !isNarrow,
    isColumns: isNarrow && !isFew,
  }
}

const MEMBERS_DRAWN = 6
/** How far around the outer side of its domain the members stand. */
const FAN = (100 / 180) * Math.PI
const BEND = 0.14
const ARROW = 10

/** Domains on an ellipse, in the order of the document: the same mesh gives the same picture. */
export function placeDomains(count: number, frame: Frame): readonly Point[] {
  const { width, height, margin } = frame
  if (frame.isColumns) return placeInColumns(count, frame)
  const centre = { x: width / 2, y: height / 2 }
  if (count === 1) return [centre]
  const reach = { x: width / 2 - margin.x, y: height / 2 - margin.y }
  // Two stand side by side, more begin at the top.
  const start = count === 2 ? Math.PI : -Math.PI / 2
  const round = Array.from({ length: count }, (_, i) => {
    const angle = start + (i * 2 * Math.PI) / count
    return { x: centre.x + reach.x * Math.cos(angle), y: reach.y * Math.sin(angle) }
  })
  // A triangle reaches less far down than up: it is moved to the middle.
  const heights = round.map(({ y }) => y)
  const middle = (Math.min(...heights) + Math.max(...heights)) / 2
  return round.map(({ x, y }) => ({ x, y: centre.y + y - middle }))
}

/** Down on the right, up again on the left: neighbours stay neighbours. */
function placeInColumns(count: number, { width, height, margin }: Frame): readonly Point[] {
  const rows = Math.ceil(count / 2)
  const step = (height - 2 * margin.y) / Math.max(1, rows - 1)
  return Array.from({ length: count }, (_, i) =>
    i < rows
      ? { x: width - margin.x, y: margin.y + i * step }
      : { x: margin.x, y: margin.y + (2 * rows - 1 - i) * step },
  )
}

/** Names stand on the outer side of their domain, since treaties arrive on the inner one. */
export function isAbove({ y }: Point, { height }: Frame): boolean {
  return y <= height / 2
}

export interface PlacedMember {
  readonly member: MeshMember
  readonly at: Point
}

/** Up to six members on the left or right, away from the middle: names beside each other would lie on each other. */
export function placeMembers(
  members: readonly MeshMember[],
  domain: Point,
  { width, reach }: Frame,
): readonly PlacedMember[] {
  const shown = members.slice(0, MEMBERS_DRAWN)
  // Rounded, since the middle of a circle is only nearly the middle.
  const side = Math.round(domain.x) < Math.round(width / 2) ? -1 : 1
  const step = FAN / (MEMBERS_DRAWN - 1)
  return shown.map((member, i) => {
    const angle = (i - (shown.length - 1) / 2) * step
    return { member, at: { x: domain.x + side * reach * Math.cos(angle), y: domain.y + reach * Math.sin(angle) } }
  })
}

export interface DrawnLink {
  readonly link: MeshLink
  /** More treaties of the same pair and direction lie on the same line. */
  readonly count: number
  readonly path: string
  readonly arrow: string
}

/** One bent line per pair and direction; the bend keeps the two directions apart. */
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
