import type { JsonValue, Signer } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  createInvite,
  enroll,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, it } from 'vitest'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

/** A join that succeeds unless a defect changes it. */
interface Draft {
  readonly node: NodeCaller
  token: string
  members: Record<string, JsonValue>
  signer: Signer | undefined
  /** Changes the body after signing. The body is signed again unless the proof is to fail. */
  rawBody: string | undefined
}

interface Defect {
  readonly name: string
  readonly status: number
  readonly code: string
  /** Two defects of the same part of a request cannot be combined. */
  readonly part: string
  apply(draft: Draft): Promise<void> | void
}

let counter = 0

/** The checks of protocol/core 5.2 in the order of its table, each as the defect it finds. */
const DEFECTS: readonly Defect[] = [
  {
    name: 'invalid JSON',
    status: 400,
    code: 'invalid_json',
    part: 'text',
    apply: (draft) => {
      draft.rawBody = '{"node_public_key":'
    },
  },
  {
    name: 'a member of a sister route',
    status: 400,
    code: 'unexpected_field',
    part: 'sister',
    apply: ({ members }) => {
      members['cert_id'] = 'x'
    },
  },
  {
    name: 'no key',
    status: 400,
    code: 'missing_node_public_key',
    part: 'key',
    apply: ({ members }) => {
      members['node_public_key'] = ''
    },
  },
  {
    name: 'a malformed key',
    status: 400,
    code: 'invalid_public_key',
    part: 'key',
    apply: ({ members }) => {
      members['node_public_key'] = 'malformed'
    },
  },
  {
    name: 'no token',
    status: 403,
    code: 'missing_invite_token',
    part: 'token',
    apply: (draft) => {
      draft.token = ''
    },
  },
  {
    name: 'an invalid validity',
    status: 400,
    code: 'invalid_validity_hours',
    part: 'validity',
    apply: ({ members }) => {
      members['validity_hours'] = 0
    },
  },
  {
    name: 'a used invite',
    status: 403,
    code: 'invalid_invite_token',
    part: 'token',
    apply: async (draft) => {
      counter += 1
      const other = nodeCaller(na.url, await testSigner('node', `join-order-other-${counter}`), () => clock.now())
      accepted(await other.join(draft.token), 201)
    },
  },
  {
    name: 'a bad proof',
    status: 401,
    code: 'node_auth_failed',
    part: 'proof',
    apply: async (draft) => {
      draft.signer = await testSigner('node', 'an unknown signer')
    },
  },
  {
    name: 'a compromised key',
    status: 403,
    code: 'node_key_compromised',
    part: 'compromise',
    apply: async ({ node }) => {
      const { cert_id } = await enroll(na, node)
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id, reason: 'key_compromise' }))
    },
  },
  {
    name: 'a spent nonce',
    status: 401,
    code: 'node_auth_failed',
    part: 'nonce',
    apply: async ({ node, members }) => {
      await enroll(na, node, {}, { nonce: 'spent' })
      members['nonce'] = 'spent'
    },
  },
]

async function expectRefusal(defects: readonly Defect[]): Promise<void> {
  counter += 1
  const node = nodeCaller(na.url, await testSigner('node', `join-order-${counter}`), () => clock.now())
  const draft: Draft = { node, token: await createInvite(na), members: {}, signer: undefined, rawBody: undefined }
  // The last check first, because a compromised key could not spend a nonce any more.
  for (const defect of defects.toReversed()) await defect.apply(draft)
  const { token, members, signer, rawBody } = draft
  const answer =
    rawBody === undefined
      ? await node.join(token, members, signer === undefined ? {} : { signer })
      : await na.request('POST', '/join', { rawBody })
  const [first] = defects
  if (first !== undefined) refused(answer, first.status, first.code)
}

const PAIRS = DEFECTS.flatMap((first, index) =>
  DEFECTS.slice(index + 1)
    .filter((second) => second.part !== first.part)
    .map((second): [string, string, Defect, Defect] => [first.name, second.name, first, second]),
)

describe('POST /join, order of checks', () => {
  it.each(PAIRS)('reports %s before %s', async (_first, _second, first, second) => {
    await expectRefusal([first, second])
  })

  it('reports each defect when it is the only one', async () => {
    for (const defect of DEFECTS) await expectRefusal([defect])
  })
})
