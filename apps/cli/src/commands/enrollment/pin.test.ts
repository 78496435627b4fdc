import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DAY, type GenesisBlock, draftGenesisBlock, instantOf, signList, writeInstant } from '@chancery/protocol'
import { FIRST_KEY, signSuccession, testSigner } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import { requirePinned } from './pin.ts'

const NOW = instantOf('2030-01-02T03:00:00Z')

it('takes the block after a succession for a pinned file of the same root, and for nothing else', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-pin-'))
  const [root, key] = [await testSigner('rs-test', 'root'), await testSigner('na-test', 'na')]
  const window = { valid_from: writeInstant(NOW - DAY), valid_to: writeInstant(NOW + 90n * DAY) }
  const network_authority = { public_key: key.publicKey, ...window }
  const choices = { network_name: 'PIN-NET', root_public_key: root.publicKey, network_authority }
  const pinned: GenesisBlock = await signList(draftGenesisBlock(choices), root)
  const next = await signSuccession(folder, { genesis: pinned, key: FIRST_KEY }, { keyId: 'na-2', seed: 'na-2' }, NOW)
  const file = { fingerprint: genesisFingerprint(pinned), source: 'genesis.json', block: pinned }
  const { block: _block, ...fingerprint } = file
  await requirePinned(next.genesis, [file], 'x', () => Promise.resolve(next.history))
  for (const [pin, history] of [
    [file, undefined],
    [fingerprint, next.history],
  ] as const)
    await expect(requirePinned(next.genesis, [pin], 'x', () => Promise.resolve(history))).rejects.toThrow(
      'is not the authority',
    )
  // Not back again.
  const late = { fingerprint: genesisFingerprint(next.genesis), source: 'g2.json', block: next.genesis }
  await expect(requirePinned(pinned, [late], 'x', () => Promise.resolve(next.history))).rejects.toThrow(
    'is not the authority',
  )
  await rm(folder, { recursive: true, force: true })
})
