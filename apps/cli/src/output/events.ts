import { type Instant, type JsonValue, visible, writeInstant, writeJson } from '@chancery/protocol'
import type { Output, Style } from './screen.ts'

export interface CommandEvent {
  readonly event: string
  /** For programs; undefined members are left out. */
  readonly facts?: Readonly<Record<string, JsonValue | undefined>>
  /** For people. */
  readonly text: string
  readonly tone?: 'good' | 'warn' | 'bad'
}

interface EventContext {
  readonly stdout: Output
  readonly style: Style
  readonly json: boolean
  readonly now: () => Instant
}

export type Report = (event: CommandEvent) => void

/** Reports the events of a long-running command: text on a terminal, JSON lines otherwise. */
export function reporter(context: EventContext): Report {
  const { stdout, style } = context
  const asJson = context.json || !stdout.isTTY
  return ({ event, facts = {}, text, tone }) => {
    const now = context.now()
    if (asJson) {
      const members = Object.entries(facts).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
      stdout.write(`${writeJson({ time: writeInstant(now), event, ...Object.fromEntries(members) })}\n`)
      return
    }
    // Rounded to seconds for people.
    const time = writeInstant(now - (now % 1_000_000n))
    const shown = visible(text)
    stdout.write(`${style.quiet(time)}  ${tone === undefined ? shown : style[tone](shown)}\n`)
  }
}
