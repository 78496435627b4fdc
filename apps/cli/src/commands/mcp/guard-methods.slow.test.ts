import { afterAll, beforeAll, expect, it } from 'vitest'
import { type GuardNetwork, type GuardSession, inSession, openGuardNetwork } from './guard-session.suite.ts'

/** Methods besides tools/call: decided by default, and opened by a rule. */
let network = undefined as unknown as GuardNetwork
beforeAll(async () => {
  const rules = 'methods:\n  completion/complete: pass\n  notifications/mine: pass\n'
  network = await openGuardNetwork(['mcp:files:resources/read'], rules)
})
afterAll(() => network.close())

const withSession = (work: (session: GuardSession) => Promise<void>): Promise<void> => inSession(network, work)

it('decides a method that names something of the server, and leaves evidence of it', () =>
  withSession(async (session) => {
    expect(await session.ask('resources/read', { uri: 'file:///a' })).toMatchObject({
      result: { method: 'resources/read' },
    })
    expect((await network.executions()).at(-1)).toMatchObject({
      executed_capability: 'mcp:files:resources/read',
      execution_parameters: { uri: 'file:///a' },
    })
  }))

it.each([
  ['prompts/get', { name: 'p' }],
  ['resources/subscribe', { uri: 'file:///a' }],
  ['subscriptions/listen', { notifications: {} }],
  ['tasks/get', { taskId: 't' }],
  ['tasks/list', {}],
  ['tasks/result', { taskId: 't' }],
  ['tasks/cancel', { taskId: 't' }],
])('does not pass %s on without a right to it', (method, params) =>
  withSession(async (session) => {
    expect(await session.ask(method, params)).toMatchObject({
      error: { code: 40_301, data: { reason: 'capability out of scope', code: 'capability_out_of_scope' } },
    })
  }),
)

it('passes a method or a notification that a rule opens, and drops an unknown notification', () =>
  withSession(async (session) => {
    const opened = await session.ask('completion/complete', { ref: {} })
    expect(opened).toMatchObject({ result: { method: 'completion/complete' } })
    session.send({ jsonrpc: '2.0', method: 'notifications/other' })
    session.send({ jsonrpc: '2.0', method: 'notifications/mine' })
    const messages = (): unknown[] => session.received.map(({ params }) => (params as { data?: string })?.data)
    await expect.poll(messages).toContain('notifications/mine')
    expect(messages()).not.toContain('notifications/other')
    expect(session.notes).toContain('the notification notifications/other is not passed on')
  }))
