import { describe, expect, it } from 'vitest'
import type { Reader } from '../../database/database.ts'
import { StoredVersions } from './version.ts'

/** A database that answers when `answer` is called. */
function slowDatabase() {
  const asked: number[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const row = { crl_json: '{}', head_json: null, frame_json: null, segments_json: null, digest: null, bytes: 2 }
  const where = (_column: string, _is: string, sequence: number) => ({
    executeTakeFirst: async () => {
      asked.push(sequence)
      await promise
      return { ...row, sequence }
    },
  })
  const read = { selectFrom: () => ({ select: () => ({ where }) }) } as unknown as Reader
  return { database: { read }, asked, answer: resolve }
}

describe('StoredVersions', () => {
  it('one address gets half of the places, and others are served in turn', async () => {
    const { database, asked, answer } = slowDatabase()
    const versions = new StoredVersions()
    const many = Array.from({ length: 40 }, (_, sequence) =>
      versions.read(sequence, 'attacker', database).then(
        () => 'read',
        (error: { details?: { reason?: string } }) => error.details?.reason,
      ),
    )
    const other = versions.read(1000, 'reader', database)
    await expect.poll(() => asked).toEqual([0])
    answer()
    expect(Buffer.from((await other).bytes).toString()).toBe('{}')
    expect(asked).toEqual([0, 1000])
    const outcomes = await Promise.all(many)
    expect(outcomes.filter((each) => each === 'read')).toHaveLength(8)
    expect(outcomes.filter((each) => each === 'busy')).toHaveLength(32)
  })
})
