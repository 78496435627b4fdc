import { type Markup, markup } from '@chancery/service-kit'
import { figure } from '../../pages/parts.ts'
import type { Activity } from './activity.ts'

const DAY_MINUTES = 1440
const WIDTH = 720
const HEIGHT = 120
/** Five minutes per step. Smaller steps are not visible on a screen. */
const BUCKET = 5

/** Active nodes over the last day. Minutes without a count stay empty. */
export function activityChart(activity: Activity): Markup {
  const counted = activity.active.filter((value) => value !== null)
  if (counted.length === 0) return markup`<p class="empty">No history yet: the first point comes within a minute.</p>`
  const top = niceTop(Math.max(...counted))
  const runs = toRuns(activity.active, top)
  const [low, high] = [Math.min(...counted), Math.max(...counted)]
  const label = `Active nodes over the last day: now ${counted.at(-1) ?? 0}, lowest ${low}, highest ${high}.`
  return markup`<figure class="trend"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">
<line class="grid" x1="0" x2="${WIDTH}" y1="${HEIGHT / 2}" y2="${HEIGHT / 2}"/><line class="grid" x1="0" x2="${WIDTH}" y1="1" y2="1"/><line class="axis" x1="0" x2="${WIDTH}" y1="${HEIGHT - 1}" y2="${HEIGHT - 1}"/>
${runs.map((run) => markup`<path class="area" d="${areaOf(run)}"/><polyline class="line" points="${run.map(([x, y]) => `${x},${y}`).join(' ')}"/>`)}
</svg><figcaption><span>24 h ago</span><span>top line ${figure(top)}, lowest ${figure(low)}, highest ${figure(high)}</span><span>now</span></figcaption></figure>`
}

type Point = readonly [x: number, y: number]

/** Connected line segments. The newest minute is at the right edge. */
function toRuns(values: readonly (number | null)[], top: number): readonly (readonly Point[])[] {
  const runs: Point[][] = []
  let run: Point[] = []
  const offset = DAY_MINUTES - values.length
  for (let at = 0; at < values.length; at += BUCKET) {
    const bucket = values.slice(at, at + BUCKET).filter((value) => value !== null)
    const value = bucket.at(-1)
    if (value === undefined) {
      if (run.length > 0) runs.push(run)
      run = []
      continue
    }
    const minute = Math.min(offset + at + BUCKET, DAY_MINUTES)
    run.push([round((minute / DAY_MINUTES) * WIDTH), round(HEIGHT - 1 - (value / top) * (HEIGHT - 3))])
  }
  // A single point has no length: it is drawn as a short stroke.
  const all = run.length > 0 ? [...runs, run] : runs
  return all.map((each) => (each.length === 1 ? [[(each[0]?.[0] ?? 0) - 2, each[0]?.[1] ?? 0], ...each] : each))
}

function areaOf(run: readonly Point[]): string {
  const [first, last] = [run[0]?.[0] ?? 0, run.at(-1)?.[0] ?? 0]
  return `M${first},${HEIGHT} L${run.map(([x, y]) => `${x},${y}`).join(' L')} L${last},${HEIGHT} Z`
}

/** 1, 2 or 5 times a power of ten, so that the scale does not jump with every node. */
export function niceTop(value: number): number {
  if (value <= 5) return 5
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value) ?? value
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
