import { createHash } from 'node:crypto'
import { type FormerKey, readInstant } from '@chancery/protocol'
import { type ForeignObject, foreignSovereign, foreignTreaty, wireText } from '@chancery/testkit'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { checkTreaties } from './check-treaties.ts'
import { MaterialChecks } from './material-checks.ts'
import { treatyRows } from './partner-calls.suite.ts'

const NOW = readInstant('2026-01-02T03:04:05Z') ?? 0n
const current = foreignSovereign('BETA')
const formerKeys = Array.from({ length: 64 }, (_, n) => foreignSovereign('BETA', `former-${n}`))
const former = formerKeys.map((key, n): FormerKey => ({
  key_id: `k-${n}`,
  public_key: key.publicKey,
  valid_from: '2020-01-01T00:00:00Z',
  valid_to: '2027-01-01T00:00:00Z',
}))
const far = foreignSovereign('FAR')
const keys = { always: [current.publicKey], former }

/** Well-formed, and of no key. */
function wrongSignatures(count: number, of: number): readonly ForeignObject[] {
  return Array.from({ length: count }, (_, n) => {
    const half = createHash('sha256').update(`${of} ${n}`).digest()
    half[31] = 0
    return {
      key_id: 'unknown',
      sig: Buffer.concat([Buffer.from(current.publicKey, 'base64'), half]).toString('base64'),
    }
  })
}
const withSignatures = (count: number, of: number): ForeignObject => ({
  ...foreignTreaty(current, far, NOW),
  signatures: wrongSignatures(count, of),
})
const taskOf = (page: ForeignObject) => ({
  blocks: [new Uint8Array(Buffer.from(wireText(page)))],
  sovereign_id: 'BETA',
  keys,
  now: NOW,
})
const rowsOf = (count: number, row: (n: number) => ForeignObject): ForeignObject =>
  treatyRows(...Array.from({ length: count }, (_, n) => row(n)))

describe('a page of treaties', () => {
  it('has at most the rows that were asked for', async () => {
    const row = foreignTreaty(current, far, NOW)
    expect(await checkTreaties(taskOf(rowsOf(1000, () => row)))).toMatchObject({ value: { refused: 0 } })
    expect(await checkTreaties(taskOf(rowsOf(1001, () => row)))).toEqual({ failure: 'malformed' })
  })

  it('is refused when it asks for more verifications than a valid one', async () => {
    expect(await checkTreaties(taskOf(rowsOf(40, (n) => withSignatures(8, n))))).toEqual({ failure: 'malformed' })
    const page = rowsOf(40, (n) => (n === 0 ? withSignatures(8, n) : foreignTreaty(current, far, NOW)))
    expect(await checkTreaties(taskOf(page))).toMatchObject({ value: { refused: 1 } })
  })

  it('may be signed by the former key that its key id names, among many', async () => {
    const { signatures, ...draft } = foreignTreaty(formerKeys[63] ?? current, far, NOW)
    const [signature] = signatures as readonly ForeignObject[]
    const row = { ...draft, signatures: [{ ...signature, key_id: 'k-63' }] }
    expect(await checkTreaties(taskOf(rowsOf(30, () => row)))).toMatchObject({ value: { refused: 0 } })
  })
})

describe('checks in the thread', () => {
  const checks = new MaterialChecks()
  afterAll(() => checks.close())
  const large = (): ReturnType<typeof taskOf> => taskOf(rowsOf(900, () => foreignTreaty(current, far, NOW)))

  it('end with their pull, waiting or running, and do not end those of others', async () => {
    const [first, second] = [new AbortController(), new AbortController()]
    const running = checks.until('one', first.signal).run('treaties', large())
    const waiting = checks.until('one', second.signal).run('treaties', large())
    const other = checks.until('other', new AbortController().signal).run('treaties', large())
    second.abort()
    await expect(waiting).rejects.toMatchObject({ outcome: 'timeout' })
    first.abort()
    await expect(running).rejects.toMatchObject({ outcome: 'timeout' })
    expect((await other).treaties).toHaveLength(900)
  }, 20_000)

  it('end after ten seconds, whatever the document is', async () => {
    const late = new AbortController()
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal)
    setTimeout(() => late.abort(), 5)
    await expect(checks.until('slow', new AbortController().signal).run('treaties', large())).rejects.toMatchObject({
      outcome: 'timeout',
    })
    expect(timeout).toHaveBeenCalledWith(10_000)
    timeout.mockRestore()
  })

  it('do not wait for the document of another partner', async () => {
    const order: string[] = []
    const run = async (partner: string, rows: number): Promise<void> => {
      const task = taskOf(rowsOf(rows, () => foreignTreaty(current, far, NOW)))
      await checks.until(partner, new AbortController().signal).run('treaties', task)
      order.push(partner)
    }
    // The documents of one partner are checked one after another.
    await Promise.all([run('many', 900), run('many', 900), run('many', 900), run('other', 100)])
    expect(order.indexOf('other')).toBeLessThan(2)
  }, 30_000)
})
