import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from './testing/real-authority.suite.ts'

let network: RealNetwork
let partner: RealNetwork
beforeAll(async () => {
  partner = await openNetwork({}, 'PARTNER-NET')
  network = await openNetwork({ NA_PARTNER_ADDRESSES: 'loopback', EVIDENCE_STORE: 'on' }, 'QUIET-NET')
})
afterAll(async () => {
  await network.close()
  await partner.close()
})

/** --quiet: of records their ids, one in a line, and nothing else. */
async function idsOf(line: string, stdin?: string): Promise<readonly string[]> {
  const ran = await network.asOperator(`${line} --quiet`, stdin === undefined ? {} : { stdin })
  expect([line, ran.code, ran.stderr]).toEqual([line, 0, ''])
  const ids = ran.stdout.trimEnd().split('\n')
  expect([line, ...ids.filter((id) => !/^\S+$/.test(id))]).toEqual([line])
  return ids
}

it('commands that make or change a record print its id only', async () => {
  const [root, key] = [partner.genesis.root_public_key, partner.genesis.network_authority.public_key]
  await idsOf('keygen node --out key')
  await idsOf(`join --home node --url ${network.na.url} --genesis genesis.json`, await network.invite())
  await idsOf('node label node/node.pub bench')
  const [attestation = ''] = await idsOf('attestation issue clerk --role role:client')
  await idsOf(`attestation revoke ${attestation} --reason left --yes`)
  await idsOf(`partner add ${partner.na.url} --root-key ${root} --allow-http`)
  await idsOf('partner set PARTNER-NET --every 3600s')
  const [treaty = ''] = await idsOf(`treaty issue PARTNER-NET --key ${key} --role role:client`)
  const [renewed = ''] = await idsOf(`treaty renew ${treaty}`)
  await idsOf(`treaty revoke ${renewed} --reason over --yes`)
  network.clock.advance(60)
  await idsOf('partner pull PARTNER-NET')
  await idsOf('partner remove PARTNER-NET --yes')
  await idsOf('evidence key add exec-1 --key key.pub --executor QUIET-NET')
  await idsOf('evidence key retire exec-1 --yes')
  await idsOf('policy new --name own')
  await idsOf('policy publish own.policy.yaml')
  await idsOf('policy activate own 1 --yes')
  await idsOf('policy deactivate own 1 --yes')
}, 60_000)
