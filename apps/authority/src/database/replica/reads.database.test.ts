import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { hasProof, writeProof } from './reads.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

it('without a replica the database itself answers', async () => {
  const { database, reads } = na.core
  expect(await reads.run(async (given) => given)).toBe(database)
})

it('proofs of PostgreSQL only rise, and a server that follows no other has none', async (context) => {
  const { database } = na.core
  if (database.engine !== 'postgres') return context.skip()
  const proofs = await Promise.all(Array.from({ length: 20 }, () => writeProof(database)))
  expect(new Set(proofs.map(({ name }) => name)).size).toBe(1)
  // Of writers at the same time, too: each is later than every other one before it.
  expect(new Set(proofs.map(({ at }) => at)).size).toBe(20)
  const newest =
    proofs
      .map(({ at }) => at)
      .toSorted()
      .at(-1) ?? ''
  expect((await writeProof(database)).at > newest).toBe(true)
  expect(await hasProof(database, proofs[0] ?? { name: '', at: '' })).toBe(false)
})

it('a proof is of one authority: a replica of another network never has it', async (context) => {
  const { database } = na.core
  if (database.engine !== 'postgres') return context.skip()
  const { name } = await writeProof(database)
  expect(name).toBe(`replica-proof 00000001 ${na.genesis.network_authority.public_key}`)
})
