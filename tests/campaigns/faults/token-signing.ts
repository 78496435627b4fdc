import { createPublicKey, verify } from 'node:crypto'
import { TestToken, findTokenObstacle } from '@chancery/testkit'
import { openPkcs11Signer } from '../../../apps/authority/src/signing/key-providers.ts'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'

export const summary = 'signatures by a key in a SoftHSM token, each verified by the platform; prints their rate'
export const defaultCount = 10_000

const SESSIONS = 4
const CALLERS = 16

export async function run({ count, log }: CampaignOptions): Promise<CampaignResult> {
  const obstacle = findTokenObstacle()
  if (obstacle !== undefined) throw new Error(obstacle)
  const token = new TestToken()
  process.env['SOFTHSM2_CONF'] = token.configFile
  try {
    token.generate('na-campaign')
    const place = { modulePath: token.modulePath, tokenLabel: 'chancery-test', keyLabel: 'na-campaign', pin: token.pin }
    const signer = await openPkcs11Signer(place, 'na-campaign', SESSIONS)
    const signatures: Uint8Array[] = []
    const began = performance.now()
    let next = 0
    const call = async (): Promise<void> => {
      for (let i = next++; i < count; i = next++) signatures[i] = await signer.sign(messageOf(i))
    }
    await Promise.all(Array.from({ length: CALLERS }, call))
    const seconds = (performance.now() - began) / 1000
    log(JSON.stringify({ signatures: count, seconds, per_second: Math.round(count / seconds), sessions: SESSIONS }))
    const key = platformKey(signer.publicKey)
    const violations = signatures.filter((signature, i) => !verify(null, messageOf(i), key, signature)).length
    return { cases: count, violations }
  } finally {
    token.remove()
  }
}

/** About as long as a join certificate. */
function messageOf(i: number): Buffer {
  return Buffer.from(`certificate ${i} `.padEnd(500, '.'))
}

function platformKey(publicKey: string): ReturnType<typeof createPublicKey> {
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(publicKey, 'base64')])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}
