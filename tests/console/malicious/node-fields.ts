import { createAuthorityClient } from '@chancery/sdk/authority'
import { type TestAuthority, createInvite, enroll, nodeCaller, testSigner } from '@chancery/testkit'
import { agentHref, nodeHref } from '../../../apps/console/src/operator/node-key.ts'
import { type Fields, part, post } from './requests.ts'
import { type MaliciousSetup, goneOperator } from './setup.ts'
import { asName } from './texts.ts'

/** What belongs to a node, an invite or an operator key. */
export function nodeFields({ na }: MaliciousSetup, text: string, number: number): Fields {
  const node = async (name: string) =>
    nodeCaller(na.url, await testSigner('n', `${name} ${number}`), () => na.core.clock.now())
  return {
    async label() {
      const { key, ...caller } = await node('labelled')
      const { cert_id } = await enroll(na, { key, ...caller }, { roles: [`role:${asName(text)}`] })
      const labelled = await post(na, '/admin/nodes/label', { node_public_key: key, label: text })
      const page = nodeHref(key)
      return labelled && [page, `${page}?do=label`, `${page}?do=revoke`, `/operator/certificates/${part(cert_id)}`]
    },
    async invite() {
      const invited = await node('invited')
      await enroll(na, invited, { label: text })
      return [nodeHref(invited.key)]
    },
    async withdrawn_invite() {
      const token_id = await createInvite(na, { roles: [`role:${asName(text)}`] })
      const withdrawn = await post(na, '/admin/invites/withdraw', { created_by: 'op-standard', reason: text })
      return withdrawn && token_id !== '' ? ['/operator/nodes?tab=invites&invites=all'] : undefined
    },
    ...agentFields(na, text, number),
    async operator_key() {
      const revoked = await post(na, `/admin/operator-keys/op-${goneOperator(number)}/revoke`, { reason: text })
      return revoked && ['/operator/keys', `/operator/keys?do=revoke&key=op-standard`]
    },
  }
}

/** The members of one agent. Each field changes one of them and leaves the others as they are. */
function agentFields({ url, genesis }: TestAuthority, text: string, number: number): Fields {
  let descriptor = {
    agent_id: `agent-${number}`,
    network_name: genesis.network_name,
    capabilities: ['pay.invoice'],
    endpoint: { host: `agent-${number}.example.org`, port: 443, scheme: 'https' },
    metadata: {},
  }
  const change = async (changed: Partial<typeof descriptor>): Promise<string> => {
    const signer = await testSigner('n', `labelled ${number}`)
    const client = createAuthorityClient({ url, node: { signer, audience: genesis.network_authority.public_key } })
    await client.agents.register({ ...descriptor, ...changed })
    descriptor = { ...descriptor, ...changed }
    return agentHref(signer.publicKey)
  }
  return {
    agent: async () => [await change({ agent_id: text })],
    async capability() {
      const page = await change({ capabilities: ['pay.invoice', text, `${text}!`, `${text}?`] })
      return [page, `/operator/agents?capability=${part(text)}`]
    },
    async host() {
      const page = await change({ endpoint: { ...descriptor.endpoint, host: text } })
      return [page, `/operator/agents?host=${part(text)}`]
    },
    metadata: async () => [await change({ metadata: { note: text, [text]: text } })],
  }
}
