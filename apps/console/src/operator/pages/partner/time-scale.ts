import type { Tone } from '../../parts/icons.ts'

export interface Bar {
  readonly fromMs: number
  readonly endMs: number
  readonly tone: Tone
}

export interface Span {
  readonly fromMs: number
  readonly endMs: number
}

const LEFT = 130
const RIGHT = 716
const DAY_MS = 86_400_000
const MOST_PAST_MS = 90 * DAY_MS
const MOST_AHEAD_MS = 180 * DAY_MS
const LABELS = 6

/** The time that is drawn: all bars, at most 90 days back and 180 days ahead. */
export function spanOf(bars: readonly Span[], nowMs: number): Span {
  const fromMs = Math.max(Math.min(nowMs - DAY_MS, ...bars.map((bar) => bar.fromMs)), nowMs - MOST_PAST_MS)
  const endMs = Math.min(Math.max(nowMs + DAY_MS, ...bars.map((bar) => bar.endMs)), nowMs + MOST_AHEAD_MS)
  const margin = (endMs - fromMs) / 20
  return { fromMs: fromMs - margin, endMs: endMs + margin }
}

/** The place of a bar, cut at both ends, and never too thin to see. */
export function barOf({ fromMs, endMs }: Span, span: Span): { readonly x: number; readonly width: number } {
  const place = (ms: number): number => {
    const part = (ms - span.fromMs) / (span.endMs - span.fromMs)
    return Math.round((LEFT + Math.min(1, Math.max(0, part)) * (RIGHT - LEFT)) * 10) / 10
  }
  return { x: place(fromMs), width: Math.max(3, Math.round((place(endMs) - place(fromMs)) * 10) / 10) }
}

/** Lines at even distances, each with its day. */
export function monthsOf(span: Span): readonly { readonly x: number; readonly text: string }[] {
  const step = (span.endMs - span.fromMs) / LABELS
  return Array.from({ length: LABELS - 1 }, (_, index) => {
    const ms = span.fromMs + step * (index + 1)
    const text = new Date(ms).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
    return { x: barOf({ fromMs: ms, endMs: ms }, span).x, text }
  })
}
