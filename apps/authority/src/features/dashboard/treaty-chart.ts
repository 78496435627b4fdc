import { DAY, type Instant, instantOf } from '@chancery/protocol'
import { type Markup, markup } from '@chancery/service-kit'
import { figure } from '../../pages/parts.ts'
import type { DashboardView } from './feeds.ts'

const DAYS = 30
const WIDTH = 720
const HEIGHT = 90
const STEP = WIDTH / DAYS

/** Draws when treaties in force end: a bar for each of the next thirty days, coloured by risk. */
export function treatyChart(treaties: DashboardView['treaties'], now: Instant): Markup {
  const inForce = treaties.filter(({ lifecycle_state: state }) => state === 'active' || state === 'expiring_soon')
  if (inForce.length === 0) return markup`<p class="empty">No treaty is in force.</p>`
  const perDay = Array.from({ length: DAYS }, () => 0)
  let later = 0
  for (const { expires_at } of inForce) {
    const day = Number((instantOf(expires_at) - now) / DAY)
    if (day < DAYS) perDay[day] = (perDay[day] ?? 0) + 1
    else later += 1
  }
  const top = Math.max(...perDay, 1)
  const within = (days: number): number => perDay.slice(0, days).reduce((sum, count) => sum + count, 0)
  const label = `Treaties that end within a day: ${within(1)}, within three days: ${within(3)}, within thirty days: ${within(DAYS)}, later: ${later}.`
  return markup`<figure class="trend"><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">
<line class="axis" x1="0" x2="${WIDTH}" y1="${HEIGHT - 1}" y2="${HEIGHT - 1}"/>
${perDay.map((count, day) => (count > 0 ? bar(day, count, top) : undefined))}
</svg><figcaption><span>today</span><span>${figure(within(1))} within a day, ${figure(within(3))} within three, ${figure(within(DAYS))} within thirty, ${figure(later)} later</span><span>in 30 days</span></figcaption></figure>`
}

/** As in the lifecycle: the first day is high risk, the next two are medium. */
function bar(day: number, count: number, top: number): Markup {
  const height = Math.max(4, Math.round((count / top) * (HEIGHT - 6)))
  const tone = day < 1 ? 'urgent' : day < 3 ? 'watch' : 'good'
  return markup`<rect class="bar-${tone}" x="${day * STEP + 2}" y="${HEIGHT - 1 - height}" width="${STEP - 4}" height="${height}"/>\n`
}
