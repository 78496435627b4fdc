import { globSync, readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { drain } from '../testing/run-command.suite.ts'
import { screenedPrompts } from '../prompts/prompts.ts'
import { chooseStyle, controlSequence, screen } from './screen.ts'

/** Sets the clipboard, sets the title, clears the screen, in seven and in eight bits; goes back to the line's start. */
const EVIL = 'x\u001b]52;c;cm0gLXJmIH4K\u0007\u001b]0;TITLE\u0007\u001b[2J\u009b2J\r\u202ey'
const SHOWN = 'x\\u001b]52;c;cm0gLXJmIH4K\\u0007\\u001b]0;TITLE\\u0007\\u001b[2J\\u009b2J\\u000d\\u202ey'

function shown(text: string): string {
  const stream = new PassThrough()
  screen(stream).write(text)
  return drain(stream)
}

describe('screen', () => {
  it('lets no control character through but line breaks', () => {
    const controls = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join('')
    const left = shown(controls).replaceAll(/[ -~]/g, '')
    expect(left).toBe('\n')
    expect(shown(`${EVIL}\n`)).toBe(`${SHOWN}\n`)
  })

  it('prints colours of this program, and no control sequence in text from outside', () => {
    const { bad } = chooseStyle({ isTTY: true }, {}, false)
    expect(shown(bad(EVIL))).toBe(`\u001b[31m${SHOWN}\u001b[39m`)
    const forged = controlSequence('\u001b[2J').replace(/[0-9a-f]{8}-/, '00000000-')
    expect(shown(forged)).toBe(forged)
  })

  it('leaves a JSON document with the same meaning', () => {
    const value = { [EVIL]: [EVIL, '\u{e0041}'] }
    expect(JSON.parse(shown(JSON.stringify(value)))).toEqual(value)
  })

  it('waits until a slow reader has taken what was written', async () => {
    const stream = new PassThrough({ highWaterMark: 4 })
    const output = screen(stream)
    expect(output.write('12345')).toBe(false)
    let isDrained = false
    const waiting = output.drained().then(() => (isDrained = true))
    await new Promise(setImmediate)
    expect(isDrained).toBe(false)
    stream.resume()
    await waiting
  })

  it('filters questions, too', async () => {
    const seen: string[] = []
    const prompts = screenedPrompts({
      confirm: async (question) => seen.push(question) > 0,
      secret: async (question) => `${seen.push(question)}`,
      text: async (question, initial, check) => {
        seen.push(question, check('no') ?? '')
        return initial
      },
    })
    await prompts.confirm(EVIL)
    await prompts.secret(EVIL)
    await prompts.text(EVIL, '', () => EVIL)
    expect(new Set(seen)).toEqual(new Set([SHOWN]))
  })
})

it('is the only way out: no other file writes to the process, and questions are asked in one file', () => {
  const folder = new URL('..', import.meta.url).pathname
  const files = globSync('**/*.ts', { cwd: folder }).filter((name) => !/\.(test|suite)\.ts$/.test(name))
  const using = (pattern: RegExp): string[] => files.filter((name) => pattern.test(readFileSync(folder + name, 'utf8')))
  expect(using(/\bprocess\b[^\n]*\bstd(out|err)\b|\b(stdout|stderr)\b[^\n]*= process\b|\bconsole\./)).toEqual([
    'main.ts',
    'run.ts',
  ])
  expect(using(/@clack\/prompts/)).toEqual(['prompts/prompts.ts'])
  expect(using(/from 'node:tty'|node:readline/)).toEqual([])
})
