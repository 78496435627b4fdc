import { visible, writeInstant, writeJson } from '@chancery/protocol'
import type { JsonValue } from '@chancery/protocol'
import type { CommandContext } from '../context.ts'

export interface CommandEvent {
  readonly event: string
  /** For programs; undefined members are left out. */
  readonly facts?: Readonly<Record<string, JsonValue | undefined>>
  /** For people. */
  readonly text: string
  readonly tone?: 'good' | 'warn' | 'bad'
}

export type Report = (event: CommandEvent) => void

/** Tells what a command that stays is doing: lines for people on a terminal, JSON lines anywhere else. */
export function reporter(context: Pick<CommandContext, 'stdout' | 'style' | 'json' | 'now'>): Report {
  const { stdout, style } = context
  const asJson = context.json || !stdout.isTTY
  return ({ event, facts = {}, text, tone }) => {
    const now = context.now()
    if (asJson) {
      const members = Object.entries(facts).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
      stdout.write(`${writeJson({ time: writeInstant(now), event, ...Object.fromEntries(members) })}\n`)
      return
    }
    // To the second: nobody reads more on a screen.
    const time = writeInstant(now - (now % 1_000_000n))
    const shown = visible(text)
    stdout.write(`${style.quiet(time)}  ${tone === undefined ? shown : style[tone](shown)}\n`)
  }
}
