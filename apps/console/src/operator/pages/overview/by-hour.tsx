import type { JSX } from 'preact'
import { at, read } from '../../client.ts'

interface Hour {
  readonly hour: string
  readonly allowed: number
  readonly denied: number
}

/** Decisions of the last day. */
export interface HourCounts {
  readonly hours: readonly Hour[]
  readonly allowed: number
  readonly denied: number
  readonly isComplete: boolean
}

interface Answer {
  readonly since: string
  readonly until: string
  readonly complete: boolean
  readonly counts: readonly { readonly hour: string; readonly outcome: string; readonly decisions: number }[]
}

const HOUR_MS = 3_600_000

export async function readHours(signal: AbortSignal): Promise<HourCounts> {
  const answer = await read<Answer>(at`/admin/evidence/counts`, { by: 'hour', split: 'outcome' }, signal)
  const hours: Hour[] = []
  for (let ms = Date.parse(answer.since); ms < Date.parse(answer.until); ms += HOUR_MS) {
    const rows = answer.counts.filter(({ hour }) => Date.parse(hour) === ms)
    const of = (outcome: string): number => rows.find((row) => row.outcome === outcome)?.decisions ?? 0
    hours.push({ hour: new Date(ms).toISOString(), allowed: of('authorized'), denied: of('denied') })
  }
  const sum = (name: 'allowed' | 'denied'): number => hours.reduce((all, hour) => all + hour[name], 0)
  return { hours, allowed: sum('allowed'), denied: sum('denied'), isComplete: answer.complete }
}

const [WIDTH, HEIGHT, GAP] = [578, 176, 2]

/** Bars by hour: denied on top with a gap, so that colour is not needed. A table has the same numbers. */
export function ByHour({ counts }: { readonly counts: HourCounts }): JSX.Element {
  const { hours } = counts
  const most = Math.max(1, ...hours.map((hour) => hour.allowed + hour.denied))
  const step = WIDTH / Math.max(1, hours.length)
  const high = (count: number): number => (count / most) * HEIGHT
  return (
    <figure>
      <svg
        class="chart"
        viewBox={`0 0 ${WIDTH + 24} 210`}
        role="img"
        aria-label={`Decisions by hour: ${counts.allowed} allowed, ${counts.denied} denied in 24 hours`}
      >
        <rect class="bar-line" x="0" y={HEIGHT + 10} width={WIDTH} height="1" />
        <text x={WIDTH + 22} y={HEIGHT + 14}>
          0
        </text>
        <text x={WIDTH + 22} y="16">
          {most}
        </text>
        {hours.map(({ hour, allowed, denied }, index) => {
          const [x, width, base] = [index * step + 2, step - 5, HEIGHT + 10]
          const top = base - high(allowed) - (allowed > 0 && denied > 0 ? GAP : 0)
          return (
            <g key={hour}>
              {allowed === 0 ? null : (
                <rect class="bar-good" x={x} y={base - high(allowed)} width={width} height={high(allowed)} rx="1.5" />
              )}
              {denied === 0 ? null : (
                <rect class="bar-bad" x={x} y={top - high(denied)} width={width} height={high(denied)} rx="1" />
              )}
              {index % 6 === 0 ? (
                <text class="mid" x={x + width / 2} y="206">
                  {hour.slice(11, 13)}
                </text>
              ) : null}
            </g>
          )
        })}
      </svg>
      <HourTable hours={hours} />
    </figure>
  )
}

function HourTable({ hours }: { readonly hours: readonly Hour[] }): JSX.Element {
  return (
    <table class="unseen">
      <caption>Decisions by hour, UTC</caption>
      <thead>
        <tr>
          <th scope="col">Hour</th>
          <th scope="col">Allowed</th>
          <th scope="col">Denied</th>
        </tr>
      </thead>
      <tbody>
        {hours.map(({ hour, allowed, denied }) => (
          <tr key={hour}>
            <td>{hour.slice(11, 16)}</td>
            <td>{allowed}</td>
            <td>{denied}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
