import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import type { Prompts } from '../context.ts'
import { terminalPrompts } from './prompts.ts'

/** A person at a terminal: keys go in, the screen comes out. */
function terminal(): { stdin: PassThrough; stderr: PassThrough; type: (keys: string) => void } {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => stdin })
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 })
  stderr.resume()
  return { stdin, stderr, type: (keys) => setTimeout(() => stdin.write(keys), 20) }
}

it('takes Enter for no', async () => {
  const person = terminal()
  person.type('\r')
  expect(await terminalPrompts(person).confirm('Revoke?')).toBe(false)
})

it('takes y for yes', async () => {
  const person = terminal()
  person.type('y')
  expect(await terminalPrompts(person).confirm('Revoke?')).toBe(true)
})

it('gives the default for an empty answer', async () => {
  const person = terminal()
  person.type('\r')
  expect(await terminalPrompts(person).text('Folder', './na', () => undefined)).toBe('./na')
})

it.each([
  ['Ctrl-D', (person: ReturnType<typeof terminal>) => person.type('\u0004')],
  ['the end of the input', (person: ReturnType<typeof terminal>) => setTimeout(() => person.stdin.end(), 20)],
])('ends with %s, whatever was asked', async (_how, abort) => {
  const asked: ((prompts: Prompts) => Promise<unknown>)[] = [
    (prompts) => prompts.confirm('Revoke?'),
    (prompts) => prompts.text('Folder', './na', () => undefined),
    (prompts) => prompts.secret('Invite token'),
  ]
  for (const ask of asked) {
    const person = terminal()
    abort(person)
    await expect(ask(terminalPrompts(person))).rejects.toMatchObject({ code: 'cancelled' })
    expect(person.stdin.listenerCount('keypress')).toBe(0)
  }
})

it('changes nothing when the person leaves', async () => {
  const person = terminal()
  person.type('\u0003')
  await expect(terminalPrompts(person).confirm('Revoke?')).rejects.toMatchObject({ code: 'cancelled' })
})

it('never shows what is typed as a secret', async () => {
  const person = terminal()
  let screen = ''
  person.stderr.on('data', (chunk: Buffer) => void (screen += chunk.toString()))
  person.type('invite-token\r')
  expect(await terminalPrompts(person).secret('Invite token')).toBe('invite-token')
  expect(screen).toContain('Invite token')
  expect(screen).not.toContain('invite-token')
})
