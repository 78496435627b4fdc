import { FORMER_SETTINGS } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { GATEWAY_SETTINGS, readGatewaySettings } from './gateway-settings.ts'

const POLICY = { GATEWAY_POLICY_FILE: '/etc/policy.json' }
const problems = (env: Record<string, string>): readonly string[] => readGatewaySettings({ flags: {}, env }).problems

describe('settings of the gateway', () => {
  it('have the defaults of protocol/gateway 3.2', () => {
    expect(readGatewaySettings({ flags: {}, env: POLICY })).toMatchObject({
      problems: [],
      values: { address: { host: '127.0.0.1', port: 8080 }, cpuWorkers: 2, maxBatchJobs: 1, tlsMin: '1.3' },
    })
  })

  it('stop the start for each former name, and name only settings that exist', () => {
    const names = new Set(Object.values(GATEWAY_SETTINGS).map((setting) => setting.name))
    for (const [name, words] of Object.entries(FORMER_SETTINGS).filter(([each]) => each.startsWith('GATEWAY_'))) {
      expect(names, name).not.toContain(name)
      for (const named of words.match(/\bGATEWAY_[A-Z0-9_]+/g) ?? []) expect(names, name).toContain(named)
      expect(problems({ ...POLICY, [name]: 'hunter2' }), name).toEqual([`${name}: ${words}`])
    }
  })

  it.each<[string, Record<string, string>, string[]]>([
    ['no policy', {}, ['GATEWAY_POLICY_FILE']],
    ['a token outside development mode', { ...POLICY, GATEWAY_TOKEN: 't'.repeat(32) }, ['GATEWAY_TOKEN']],
    [
      'development mode with a policy and a public address, without a token',
      { ...POLICY, GATEWAY_DEVELOPMENT: 'true', GATEWAY_ADDR: '0.0.0.0:80' },
      ['GATEWAY_TOKEN', 'GATEWAY_ADDR', 'GATEWAY_POLICY_FILE'],
    ],
    ['a collector without state', { ...POLICY, GATEWAY_AUDIT_URL: 'https://a' }, ['GATEWAY_STATE_FILE']],
    ['a token of no collector', { ...POLICY, GATEWAY_AUDIT_TOKEN_FILE: '/t' }, ['GATEWAY_AUDIT_URL']],
    ['Redis without a namespace', { ...POLICY, GATEWAY_REDIS_URL_FILE: '/r' }, ['GATEWAY_QUOTA_NAMESPACE']],
    ['a namespace without Redis', { ...POLICY, GATEWAY_QUOTA_NAMESPACE: 'n' }, ['GATEWAY_REDIS_URL_FILE']],
    [
      'one of the three TLS files',
      { ...POLICY, GATEWAY_TLS_KEY_FILE: '/k' },
      ['GATEWAY_TLS_CERT_FILE', 'GATEWAY_TLS_CLIENT_CA_FILE'],
    ],
    ['as many batches as workers', { ...POLICY, GATEWAY_MAX_BATCH_JOBS: '2' }, ['GATEWAY_MAX_BATCH_JOBS']],
    [
      'every problem at once, each setting once',
      { GATEWAY_X: '1', GATEWAY_CPU_WORKERS: 'many', GATEWAY_MAX_BATCH_JOBS: '9', GATEWAY_TLS_CERT_FILE: '/c' },
      ['GATEWAY_X', 'GATEWAY_CPU_WORKERS', 'GATEWAY_POLICY_FILE', 'GATEWAY_TLS_KEY_FILE', 'GATEWAY_TLS_CLIENT_CA_FILE'],
    ],
  ])('report %s', (_what, env, names) => {
    expect(problems(env).map((problem) => problem.split(':')[0])).toEqual(names)
  })

  it('allow one batch with one worker', () => {
    expect(problems({ ...POLICY, GATEWAY_CPU_WORKERS: '1' })).toEqual([])
  })
})
