// @chancery/sdk with the names that it had in release 0.2.0: names and forms of arguments, and nothing else.
import * as main from '@chancery/sdk'
import { createAuthorityClient } from '@chancery/sdk/authority'
import * as onExpress from '@chancery/sdk/express'
import * as onFastify from '@chancery/sdk/fastify'
import { createGatewayClient as createGateway } from '@chancery/sdk/gateway'
import * as onHono from '@chancery/sdk/hono'
import { FollowedParty, GovernedActionRunner as Runner, pinAttestation } from '@chancery/sdk/internal'
import * as nodejs from '@chancery/sdk/nodejs'
import * as protocolEntry from '@chancery/sdk/protocol'
import * as verify from '@chancery/sdk/verify'
import { seedSigner } from '@chancery/protocol'

export * from '@chancery/sdk'
export * from '@chancery/sdk/nodejs'
export { FollowedParty, pinAttestation, seedSigner }

/** `evidence.search` was `evidence.page`. */
export const createClient = (options) => {
  const client = createAuthorityClient(options)
  return { ...client, evidence: { ...client.evidence, page: client.evidence.search } }
}

/** A verdict had `ok`, and the time was `now`. Of a decision, `ok` was an allowed one. */
const withOk = (verdict) => ({ ...verdict, ok: 'allowed' in verdict ? verdict.allowed : verdict.valid })
const former =
  (verifier) =>
  async (record, { now, ...trust } = {}) =>
    withOk(await verifier(record, now === undefined ? trust : { ...trust, at: now }))
export const verifiers = Object.fromEntries(
  Object.entries(verify)
    .filter(([name]) => /^verify(?!Request|DecisionChain)/.test(name))
    .map(([name, verifier]) => [name, former(verifier)]),
)
export const { verifyAgreement, verifyAttestation, verifyCertificate, verifyDecision, verifyRecord } = verifiers
export const verifyPaper = verifyRecord

export const { signRequest } = protocolEntry

/** `install` had `ok`. */
export const RelyingParty = {
  open: async (pins) => {
    const party = await verify.RelyingParty.open(pins)
    return new Proxy(party, {
      get: (target, name) => {
        if (name === 'install')
          return async (...given) => {
            const verdict = await target.install(...given)
            return { ...verdict, ok: verdict.valid }
          }
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  },
}

export const createGatewayClient = (options) => {
  const { url, token } = options
  const client = createGateway(options)
  const asAuthority = (network, more) => createAuthorityClient({ ...more, through: { url, token, network } })
  return { ...client, verify: (certificate) => client.evaluate(certificate), asAuthority }
}

/** The identity was a function, with the audience in it. */
export const provingFetch =
  (identity) =>
  (...request) => {
    const { audience, coverAuthorization: signAuthorization, ...who } = identity()
    return main.createSigningFetch(who, { audience, ...(signAuthorization ? { signAuthorization } : {}) })(...request)
  }
export const signingFetch = provingFetch

const authorizerOf = (options) => main.createAuthorizer(options)

/** The request had the caller and the bytes of the body. */
export const httpNodeProof = (options, handler) =>
  nodejs.authenticate(authorizerOf(options), (request, response, { caller, body }) =>
    handler(Object.assign(request, { node: caller, rawBody: body }), response),
  )
export const expressNodeProof = (options) => onExpress.authenticate(authorizerOf(options))
/** It was a hook; now it is a plugin that adds the hook. */
export const fastifyNodeProof = (options) => {
  let hook
  void onFastify.authenticate({ addHook: (_name, given) => (hook = given) }, { authorizer: authorizerOf(options) })
  return hook
}
export const honoNodeProof = (options) => onHono.authenticate(authorizerOf(options))

/** A node ran from its join on, and answered with the response of the authority. */
export const Node = {
  join: async (options) => {
    const node = await main.joinNetwork(options)
    void node.run()
    const signer = await options.store.signer()
    const audience = options.genesis.network_authority.public_key
    const client = createAuthorityClient({ ...options, node: { signer, audience } })
    return {
      client,
      get publicKey() {
        return node.publicKey
      },
      get certificate() {
        return node.certificate
      },
      get keys() {
        return node.keys
      },
      ask: (capability, { attestation_id, context, ...more }) =>
        node.ask(capability, {
          attestation: attestation_id,
          ...(context ? { parameters: context.request_parameters } : {}),
          ...more,
        }),
      fetchAs: (audience, more = {}) => node.fetchWith({ audience, ...more }),
      stop: () => node.stop(),
    }
  },
}

const formerAction = (result) => ({ ...result, authorized: result.allowed })
const formerRunner = (runner) =>
  new Proxy(runner, {
    get: (target, name) => {
      if (name === 'run') return async (action) => formerAction(await target.run(action))
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
export const GovernedActionRunner = { open: async (options) => formerRunner(await Runner.open(options)) }
export const Governor = {
  open: ({ nameTries, ...options }) =>
    GovernedActionRunner.open(nameTries === undefined ? options : { ...options, useIdempotencyKeys: nameTries }),
}

/** The compatible names are as before; the result of an action says `allowed`. */
export const existingOf = (existing) => ({
  ...existing,
  governedAction: async (action) => formerAction(await existing.governedAction(action)),
})
