import type { TreatyRow } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { treatyState, endState } from '../partners/rows.ts'
import type { TheirTreaty } from './load.ts'
import { type Bar, type Span, barOf, monthsOf, spanOf } from './time-scale.ts'

const RENEWED_MS = 30 * 86_400_000
const LEGEND = [
  ['bar-good', 'in force'],
  ['bar-watch', 'ends within 72 h'],
  ['bar-ended', 'ended or replaced'],
] as const

/** Two lines, ours and theirs: one bar for each treaty, now, and dashed what a renewal would add. */
export function OverTime(props: {
  readonly ours: readonly TreatyRow[]
  readonly theirs: readonly TheirTreaty[]
  readonly nowMs: number
}): JSX.Element | null {
  const { nowMs } = props
  const ours = props.ours.map((row): Bar => {
    const { treaty, lifecycle } = row
    const endMs = Date.parse(lifecycle.revoked_at ?? treaty.expires_at)
    return { fromMs: Date.parse(treaty.valid_from), endMs, tone: treatyState(row, nowMs).tone }
  })
  const theirs = props.theirs.map(({ treaty }): Bar => {
    const endMs = Date.parse(treaty.expires_at)
    return { fromMs: Date.parse(treaty.valid_from), endMs, tone: endState(treaty.expires_at, nowMs).tone }
  })
  if (ours.length + theirs.length === 0) return null
  const isRenewable = ours.some(({ tone }) => tone !== 'ended')
  const next = { fromMs: Math.max(nowMs, ...ours.map(({ endMs }) => endMs)), endMs: nowMs + RENEWED_MS }
  const hasNext = isRenewable && next.endMs > next.fromMs
  const span = spanOf([...ours, ...theirs, ...(hasNext ? [next] : [])], nowMs)
  return (
    <section class="panel">
      <header>
        <h2>Treaties over time</h2>
        <Legend />
      </header>
      <div class="body">
        <div class="scroll" role="region" aria-label="Treaties over time, drawing" tabIndex={0}>
          <Drawing {...{ ours, theirs, span, nowMs }} next={hasNext ? next : undefined} />
        </div>
        {hasNext ? <p class="quiet small">Dashed: what a renewal for 30 days would add.</p> : null}
      </div>
    </section>
  )
}

function Legend(): JSX.Element {
  return (
    <div class="end legend">
      {LEGEND.map(([name, text]) => (
        <span key={name}>
          <svg viewBox="0 0 10 10" aria-hidden="true">
            <rect class={name} width="10" height="10" rx="2" />
          </svg>
          {text}
        </span>
      ))}
    </div>
  )
}

function Drawing(props: {
  readonly ours: readonly Bar[]
  readonly theirs: readonly Bar[]
  readonly span: Span
  readonly nowMs: number
  readonly next: Span | undefined
}): JSX.Element {
  const { ours, theirs, span, nowMs, next } = props
  const { x: now } = barOf({ fromMs: nowMs, endMs: nowMs }, span)
  return (
    <svg class="gantt" viewBox="0 0 720 132" role="img" aria-label={describe(ours, theirs)}>
      {monthsOf(span).map(({ x, text }) => (
        <g key={x}>
          <line class="grid" x1={x} x2={x} y1="16" y2="112" />
          <text class="faint" x={x} y="128" text-anchor="middle">
            {text}
          </text>
        </g>
      ))}
      <Line y={26} text="We recognise them" bars={ours} span={span} />
      {next === undefined ? null : <rect class="next" {...barOf(next, span)} y={26.75} height="16.5" rx="4" />}
      <Line y={72} text="They recognise us" bars={theirs} span={span} />
      <line class="now" x1={now} x2={now} y1="10" y2="112" />
      <text x={now} y="8" text-anchor="middle">
        now
      </text>
    </svg>
  )
}

function Line(props: {
  readonly y: number
  readonly text: string
  readonly bars: readonly Bar[]
  readonly span: Span
}): JSX.Element {
  return (
    <g>
      <text x="0" y={props.y + 13}>
        {props.text}
      </text>
      {props.bars.map((bar, index) => (
        <rect key={index} class={`bar-${bar.tone}`} {...barOf(bar, props.span)} y={props.y} height="18" rx="3" />
      ))}
    </g>
  )
}

function describe(ours: readonly Bar[], theirs: readonly Bar[]): string {
  const line = (name: string, bars: readonly Bar[]): string =>
    bars.length === 0
      ? `${name}: none.`
      : `${name}: ${bars.length}, the last until ${new Date(Math.max(...bars.map(({ endMs }) => endMs))).toISOString().slice(0, 10)}.`
  return `${line('Our treaties', ours)} ${line('Their treaties', theirs)}`
}
