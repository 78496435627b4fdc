// oxlint-disable max-lines -- one table of wrong values per setting
import { FORMER_SETTINGS } from '@chancery/contract'
import { writeWitnessKey } from '@chancery/protocol'
import { requireValues } from '@chancery/service-kit'
import { testSigner } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { ALL_AUTHORITY_SETTINGS, readAuthoritySettings } from './authority-settings.ts'
import { MINIMAL, expectBlamed, problemsOf, read } from './read-settings.suite.ts'

describe('settings of the authority', () => {
  it('raise standard routes to privileged keys by their exact names, and stop the start for any other', () => {
    expect([...read().privilegedRoutes]).toEqual([])
    const two = 'POST /admin/trust-evidence,  POST   /admin/data-usage/policy'
    expect([...read({ NA_PRIVILEGED_ROUTES: two }).privilegedRoutes]).toEqual([
      'POST /admin/trust-evidence',
      'POST /admin/data-usage/policy',
    ])
    for (const wrong of ['POST /admin/trust-evidenc', '/admin/trust-evidence', 'POST /admin/revoke', 'POST /join'])
      expectBlamed({ NA_PRIVILEGED_ROUTES: wrong }, 'NA_PRIVILEGED_ROUTES')
    expectBlamed({ NA_OWN_OFFER_ACCEPTANCE: 'two' }, 'NA_OWN_OFFER_ACCEPTANCE')
  })

  it('have the defaults of protocol/core 25', () => {
    const settings = read()
    expect(settings).toMatchObject({
      keyProvider: 'file',
      keyId: 'na-2025-q1',
      databaseLocation: { kind: 'sqlite', path: 'chancery.db' },
      haMode: false,
      limiterStore: 'memory',
      renewalGraceSeconds: 900,
      boundaryPolicyEnforcement: 'optional',
      evidenceStore: false,
      maxRequestBytes: 2_097_152,
      proxyHops: 0,
      heartbeatSeconds: 60,
      heartbeatMode: 'strict',
      publicUrl: undefined,
      allowedRoles: [],
      publicAttestationList: true,
      instanceId: undefined,
      genesisWindow: 'enforce',
      clockCheck: true,
      drainSeconds: 0,
      requireSyncStandby: false,
      host: '127.0.0.1',
      port: 8443,
      logLevel: 'info',
    })
    expect(settings.operators.size).toBe(0)
  })

  it('have the limits of protocol/core 21', () => {
    expect(read().limits).toEqual({
      admin: 30,
      operator_read: 300,
      operator_decision: 600,
      revocation: 120,
      admin_auth_failed: 30,
      verify: 60,
      evidence: 120,
      read: 120,
      join: 10,
      'join-token-fail': 3,
      discover: 30,
      node: 600,
      'node-key': 30,
      'renew-key': 6,
      approval: 120,
      'decision-address': 6000,
      decision: 600,
      'decision-relay': 6000,
      'decision-issuer': 6000,
      'decision-fail': 60,
      public: 600,
    })
  })

  it('never allow an operator key fewer decisions than the admin limit', () => {
    expect(read({ NA_RATE_LIMIT_ADMIN_PER_MINUTE: '900' }).limits.operator_decision).toBe(900)
    expect(read({ NA_RATE_LIMIT_OPERATOR_DECISION_PER_MINUTE: '40' }).limits.operator_decision).toBe(40)
  })

  it('stop the start for each former name, and name only settings that exist', () => {
    const names = new Set(Object.values(ALL_AUTHORITY_SETTINGS).map((setting) => setting.name))
    const former = Object.entries(FORMER_SETTINGS).filter(([name]) => !name.startsWith('GATEWAY_'))
    for (const [name, words] of former) {
      expect(names, name).not.toContain(name)
      for (const named of words.match(/\bNA_[A-Z0-9_]+/g) ?? []) expect(names, name).toContain(named)
      if (name.startsWith('--')) continue
      expect(
        problemsOf(() => read({ [name]: 'hunter2' })),
        name,
      ).toEqual([`${name}: ${words}`])
    }
  })

  it('read the witnesses of the log with their quorum, and the files of its keys', async () => {
    const keys = [await testSigner('node', 'w1'), await testSigner('node', 'w2')]
    const list = keys.map(
      ({ publicKey }, index) => `${writeWitnessKey({ name: `w${index}`, publicKey })} https://w${index}/`,
    )
    const quorum = (value: string): unknown => {
      const { logQuorum, logWitnesses } = read({ NA_LOG_WITNESSES: value })
      return [logQuorum, logWitnesses.map(({ url }) => url)]
    }
    const urls = ['https://w0', 'https://w1']
    expect([quorum(''), quorum(list.join()), quorum(`1 of ${list.join(', ')}`), quorum(`0 of ${list.join()}`)]).toEqual(
      [
        [0, []],
        [2, urls],
        [1, urls],
        [0, urls],
      ],
    )
    for (const wrong of [`3 of ${list.join()}`, '1 of ', `-1 of ${list.join()}`, `two of ${list.join()}`])
      expectBlamed({ NA_LOG_WITNESSES: wrong }, 'NA_LOG_WITNESSES')
    const files = (value: string) => read({ NA_LOG_PRIVATE_KEY_FILES: value }).logKeyFiles
    expect([read().logKeyFiles, files('/new.key'), files('/new.key, /old.key')]).toEqual([
      [],
      ['/new.key'],
      ['/new.key', '/old.key'],
    ])
    for (const wrong of ['', ',', '/a,/b,/c'])
      expectBlamed({ NA_LOG_PRIVATE_KEY_FILES: wrong }, 'NA_LOG_PRIVATE_KEY_FILES')
  })

  it('know every name of the specification', () => {
    const names = Object.values(ALL_AUTHORITY_SETTINGS).map((setting) => setting.name)
    for (const name of [
      'GENESIS_FILE',
      'NA_KEY_PROVIDER',
      'NA_PRIVATE_KEY_FILE',
      'NA_KEY_SEED_ENV',
      'NA_KEY_ID',
      'DB_PATH',
      'DATABASE_URL',
      'NA_HA_MODE',
      'RATE_LIMIT_STORE',
      'REDIS_URL',
      'OPERATOR_PUBLIC_KEYS_JSON',
      'OPERATOR_KEY_TIERS_JSON',
      'RENEWAL_GRACE_SECONDS',
      'BOUNDARY_POLICY_ENFORCEMENT',
      'EVIDENCE_STORE',
      'NA_MAX_REQUEST_BYTES',
      'NA_PROXY_HOPS',
      'NA_HEARTBEAT_SECONDS',
      'NA_PUBLIC_URL',
      'NA_ALLOWED_ROLES',
      'NA_PUBLIC_ATTESTATION_LIST',
      'NA_INSTANCE_ID',
      'NA_GENESIS_WINDOW',
      'NA_CLOCK_CHECK',
      'NA_DRAIN_SECONDS',
      'NA_REQUIRE_SYNC_STANDBY',
      'HOST',
      'PORT',
      'LOG_LEVEL',
      'LOG_FORMAT',
      ...[
        'ADMIN',
        'ADMIN_AUTH_FAILURES',
        'VERIFY',
        'EVIDENCE',
        'READ',
        'JOIN',
        'JOIN_FAILURES',
        'DISCOVER',
        'NODE',
        'NODE_KEY',
        'PUBLIC',
      ].map((name) => `NA_RATE_LIMIT_${name}_PER_MINUTE`),
    ]) {
      expect(names).toContain(name)
    }
  })

  it('of the environment overrule the file, but for names that other programs read too', () => {
    const text = Object.entries({ ...MINIMAL, NA_HEARTBEAT_SECONDS: '30', NA_PRIVATE_KEY_SEED: 'hunter2' })
      .map(([name, value]) => `${name}=${value}`)
      .join('\n')
    const env = {
      NA_HEARTBEAT_SECONDS: '90',
      NA_PRIVATE_KEY_SEED: 'hunter3',
      PORT: '1',
      HOST: 'elsewhere',
      DATABASE_URL: 'postgresql://other/d',
      REDIS_URL: 'redis://other',
      DB_PATH: '/other',
      NA_AUTHORITY_SERVICE_HOST: '10.0.0.1',
    }
    const sources = { flags: {}, env, envFile: { path: 'f', text } }
    const { values, notes } = readAuthoritySettings(sources)
    expect(values).toMatchObject({
      heartbeatSeconds: 90,
      port: 8443,
      host: '127.0.0.1',
      databaseLocation: { kind: 'sqlite', path: 'chancery.db' },
      redisUrl: undefined,
    })
    expect(notes.map((note) => note.split(':')[0])).toEqual([
      'DB_PATH',
      'DATABASE_URL',
      'REDIS_URL',
      'NA_HEARTBEAT_SECONDS',
      'HOST',
      'PORT',
      'NA_PRIVATE_KEY_SEED',
      'NA_AUTHORITY_SERVICE_HOST',
    ])
    expect(notes.join()).not.toContain('hunter')
  })

  it('of flags overrule those of the file', () => {
    const text = `${Object.entries(MINIMAL)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n')}\nPORT=1\nHOST=::1`
    const flags = {
      '--port': '9000',
      '--key-id': 'na-x',
      '--genesis': '/g',
      '--na-private-key': '/k',
      '--db-path': '/d',
      '--evidence-store': 'on',
      '--boundary-policy-enforcement': 'required',
    }
    expect(requireValues(readAuthoritySettings({ flags, env: {}, envFile: { path: 'f', text } }))).toMatchObject({
      port: 9000,
      host: '::1',
      keyId: 'na-x',
      genesisFile: '/g',
      keySource: { provider: 'file', path: '/k' },
      databaseLocation: { kind: 'sqlite', path: '/d' },
      evidenceStore: true,
      boundaryPolicyEnforcement: 'required',
    })
  })

  it('take values literally', () => {
    expect(read({ DB_PATH: '/data/a b#c="d".db' }).databaseLocation).toEqual({
      kind: 'sqlite',
      path: '/data/a b#c="d".db',
    })
  })

  describe('refuse the start', () => {
    it('for an unknown name that begins with NA_, and for no other unknown name', () => {
      expectBlamed({ NA_HARTBEAT_SECONDS: '60', SOMETHING_ELSE: 'x', NAME: 'y', HOSTNAME: 'z' }, 'NA_HARTBEAT_SECONDS')
    })

    it('for a name given twice, even with the same value', () => {
      const text = 'GENESIS_FILE=/g\nNA_PRIVATE_KEY_FILE=/k\n# comment\n\nPORT=1\nPORT=1\n'
      const problems = problemsOf(() =>
        requireValues(readAuthoritySettings({ flags: {}, env: {}, envFile: { path: 'f', text } })),
      )
      expect(problems).toHaveLength(1)
      expect(problems[0]).toMatch(/^PORT:/)
    })

    it('for a line that is no setting, without showing it', () => {
      const text = 'GENESIS_FILE=/g\nNA_PRIVATE_KEY_FILE=/k\nexport canary-secret\n'
      const problems = problemsOf(() =>
        requireValues(readAuthoritySettings({ flags: {}, env: {}, envFile: { path: 'f', text } })),
      )
      expect(problems).toHaveLength(1)
      expect(problems[0]).toMatch(/line 3/)
      expect(problems[0]).not.toContain('canary')
    })

    it('for what is required and missing', () => {
      expectBlamed({ GENESIS_FILE: undefined }, 'GENESIS_FILE')
      expectBlamed({ NA_PRIVATE_KEY_FILE: undefined }, 'NA_PRIVATE_KEY_FILE')
    })

    const NUMBERS: [string, string[]][] = [
      ['RENEWAL_GRACE_SECONDS', ['-1']],
      ['NA_MAX_REQUEST_BYTES', ['0', '-1']],
      ['NA_PROXY_HOPS', ['-1']],
      ['NA_HEARTBEAT_SECONDS', ['9', '901']],
      ['NA_DRAIN_SECONDS', ['-1']],
      ['PORT', ['-1', '65536']],
      ['NA_RATE_LIMIT_PUBLIC_PER_MINUTE', ['-1']],
      ...[
        'ADMIN',
        'ADMIN_AUTH_FAILURES',
        'VERIFY',
        'EVIDENCE',
        'READ',
        'JOIN',
        'JOIN_FAILURES',
        'DISCOVER',
        'NODE',
        'NODE_KEY',
      ].map((name): [string, string[]] => [`NA_RATE_LIMIT_${name}_PER_MINUTE`, ['0', '-1']]),
    ]
    it.each(NUMBERS)('for %s that is no number or out of range, naming it', (name, outside) => {
      for (const value of [
        '',
        'abc',
        '1.5',
        '1e3',
        '0x10',
        ' 60',
        '60 ',
        '60s',
        '+60',
        '060',
        '９',
        'NaN',
        '99999999999999999999',
        ...outside,
      ]) {
        expectBlamed({ [name]: value }, name)
      }
    })

    it('takes 0 for the public limiter and for the edges of the ranges', () => {
      expect(read({ NA_RATE_LIMIT_PUBLIC_PER_MINUTE: '0' }).limits.public).toBe(0)
      expect(read({ RENEWAL_GRACE_SECONDS: '0' }).renewalGraceSeconds).toBe(0)
      expect([
        read({ NA_HEARTBEAT_SECONDS: '10' }).heartbeatSeconds,
        read({ NA_HEARTBEAT_SECONDS: '900' }).heartbeatSeconds,
      ]).toEqual([10, 900])
      expect(read({ NA_MAX_REQUEST_BYTES: '1' }).maxRequestBytes).toBe(1)
    })

    it.each([
      ['NA_KEY_PROVIDER', ['', 'File', 'Vault', 'azure-keyvault']],
      [
        'DATABASE_URL',
        ['postgresql://h/d?pooler=', 'postgresql://h/d?pooler=session', 'postgresql://h/d?a=b&pooler=on'],
      ],
      ['DATABASE_READ_URL', ['', '0', '301', '1.5'].map((lag) => `postgresql://h/d?max_lag=${lag}`)],
      ['NA_HA_MODE', ['', 'true', '1', 'yes', 'ON', 'On']],
      ['EVIDENCE_STORE', ['', 'true', 'enabled']],
      ['NA_PUBLIC_ATTESTATION_LIST', ['no', '0']],
      ['NA_CLOCK_CHECK', ['false']],
      ['NA_REQUIRE_SYNC_STANDBY', ['true']],
      ['RATE_LIMIT_STORE', ['', 'Memory', 'disk']],
      ['BOUNDARY_POLICY_ENFORCEMENT', ['', 'on', 'Required']],
      ['NA_GENESIS_WINDOW', ['', 'off', 'Warn']],
      ['LOG_LEVEL', ['', 'INFO', 'verbose']],
      ['LOG_FORMAT', ['', 'JSON', 'pretty']],
      ['NA_KEY_ID', ['', 'a b', 'ë', 'k'.repeat(129)]],
      ['NA_INSTANCE_ID', ['', 'a b']],
      ['DATABASE_URL', ['', 'mysql://x', 'postgresql:', 'authority.db', 'sqlite://x']],
      ['REDIS_URL', ['', 'http://x', 'localhost:6379']],
      [
        'NA_PUBLIC_URL',
        [
          '',
          'ftp://na.example',
          'na.example',
          'https://na.example/path',
          'https://u:p@na.example',
          'https://na.example?x',
          'https://na.example#x',
          'https://',
        ],
      ],
      ['NA_ALLOWED_ROLES', ['anchor', 'role:a b', 'role:a;role:b']],
      ['HOST', ['']],
      ['OPERATOR_PUBLIC_KEYS_JSON', ['', '[]', '{', '"x"', '{"a":1}', '{"a":"x","a":"y"}', 'null']],
      ['OPERATOR_KEY_TIERS_JSON', ['', '[]', '{"a":null}', '{"a":"standard","a":"privileged"}']],
    ])('for %s with another value than it takes, naming it', (name, values) => {
      for (const value of values) expectBlamed({ [name]: value }, name)
    })

    it('never shows a database password or a Redis password', () => {
      for (const values of [
        { DATABASE_URL: 'mysql://u:canary@h/d' },
        { REDIS_URL: 'http://:canary@h' },
        { DATABASE_URL: 'postgresql://u:canary@h:99999/d' },
      ]) {
        const problems = problemsOf(() => read(values))
        expect(problems).toHaveLength(1)
        expect(problems[0]).not.toContain('canary')
      }
    })

    it.each([
      ['postgresql://h/d?pooler=transaction', 'postgresql://h/d'],
      ['postgresql://h/d?host=/run&pooler=transaction', 'postgresql://h/d?host=/run'],
      ['postgresql://h/d?pooler=transaction&host=/run', 'postgresql://h/d?host=/run'],
      ['postgresql://h/d?a=1&pooler=transaction&b=%2F', 'postgresql://h/d?a=1&b=%2F'],
    ])('not for the pooler of %s, which PostgreSQL gets without it', (given, url) => {
      expect(read({ DATABASE_URL: given }).databaseLocation).toEqual({ kind: 'postgres', url, pooler: 'transaction' })
      expect(read({ DATABASE_URL: url }).databaseLocation).toEqual({ kind: 'postgres', url })
    })

    it('with a replica and SQLite', () => {
      const url = 'postgresql://replica/d'
      expectBlamed({ DATABASE_READ_URL: url }, 'DATABASE_READ_URL')
      expectBlamed({ DATABASE_URL: 'postgresql://h/d', DATABASE_READ_URL: 'sqlite:///d' }, 'DATABASE_READ_URL')
      const readUrl = (given: string) =>
        read({ DATABASE_URL: 'postgresql://h/d', DATABASE_READ_URL: given }).databaseReadUrl
      expect(readUrl(url)).toEqual({ url, maxLagSeconds: 5 })
      expect(readUrl(`${url}?max_lag=300`)).toEqual({ url, maxLagSeconds: 300 })
    })

    it('in HA mode without PostgreSQL, and with a limiter that is not shared', () => {
      const blamed = problemsOf(() => read({ NA_HA_MODE: 'on' }))
      expect(blamed.length).toBeGreaterThan(0)
      for (const problem of blamed) expect(problem).toMatch(/^NA_HA_MODE:/)
      expectBlamed({ NA_HA_MODE: 'on', DATABASE_URL: 'postgresql://h/d', RATE_LIMIT_STORE: 'memory' }, 'NA_HA_MODE')
      expect(read({ NA_HA_MODE: 'on', DATABASE_URL: 'postgresql://h/d' })).toMatchObject({
        haMode: true,
        limiterStore: 'database',
        drainSeconds: 5,
      })
    })

    it('with RATE_LIMIT_STORE=redis and no REDIS_URL', () => {
      expectBlamed({ RATE_LIMIT_STORE: 'redis' }, 'REDIS_URL')
    })

    it('for every problem at once, also those that show only when settings are put together', async () => {
      const key = (await testSigner('op')).publicKey
      const problems = problemsOf(() =>
        read({
          GENESIS_FILE: undefined,
          NA_PRIVATE_KEY_FILE: undefined,
          NA_TYPO: 'x',
          PORT: 'http',
          NA_RATE_LIMIT_ADMIN_PER_MINUTE: '0',
          NA_HA_MODE: 'on',
          OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ 'no-tier': key }),
        }),
      )
      const blamed = new Set(problems.map((problem) => problem.split(':')[0]))
      const wanted = [
        'GENESIS_FILE',
        'NA_TYPO',
        'PORT',
        'NA_RATE_LIMIT_ADMIN_PER_MINUTE',
        'NA_PRIVATE_KEY_FILE',
        'NA_HA_MODE',
        'OPERATOR_PUBLIC_KEYS_JSON',
      ]
      expect([...blamed].sort()).toEqual(wanted.sort())
    })
  })

  describe('about the database', () => {
    it.each([
      ['postgresql://u@h/d', {}, 'database'],
      ['postgres://u@h/d', {}, 'database'],
      ['postgresql://u@h/d', { REDIS_URL: 'redis://h' }, 'redis'],
      ['postgresql://u@h/d', { RATE_LIMIT_STORE: 'memory' }, 'memory'],
      ['sqlite:////data/authority.db', {}, 'memory'],
    ])('%s %o counts in %s', (DATABASE_URL, more, limiterStore) => {
      const settings = read({ DATABASE_URL, DB_PATH: 'ignored.db', ...more })
      expect(settings.limiterStore).toBe(limiterStore)
      expect(settings.databaseLocation).toEqual(
        DATABASE_URL.startsWith('sqlite')
          ? { kind: 'sqlite', path: '/data/authority.db' }
          : { kind: 'postgres', url: DATABASE_URL },
      )
    })
  })

  describe('about workers', () => {
    it('several need PostgreSQL and a shared limiter', () => {
      expect(read({}).workers).toBe(1)
      expect(read({ NA_WORKERS: '2', DATABASE_URL: 'postgresql://u@h/d' }).workers).toBe(2)
      expectBlamed({ NA_WORKERS: '2' }, 'NA_WORKERS')
      expectBlamed({ NA_WORKERS: '2', DATABASE_URL: 'postgresql://u@h/d', RATE_LIMIT_STORE: 'memory' }, 'NA_WORKERS')
      expectBlamed({ NA_WORKERS: '0' }, 'NA_WORKERS')
    })
  })

  describe('about how long rows are stored', () => {
    it('takes days, 0 for permanently, and nothing that other parts still read', () => {
      expect(read({})).toMatchObject({ certificateKeptDays: 400, auditKeptDays: 0 })
      const days = { NA_CERTIFICATE_KEPT_DAYS: '30', NA_AUDIT_KEPT_DAYS: '366' }
      expect(read(days)).toMatchObject({ certificateKeptDays: 30, auditKeptDays: 366 })
      expect(read({ NA_CERTIFICATE_KEPT_DAYS: '0' }).certificateKeptDays).toBe(0)
      expectBlamed({ NA_CERTIFICATE_KEPT_DAYS: '29' }, 'NA_CERTIFICATE_KEPT_DAYS')
      expectBlamed({ NA_AUDIT_KEPT_DAYS: '365' }, 'NA_AUDIT_KEPT_DAYS')
      expectBlamed({ NA_AUDIT_KEPT_DAYS: '-1' }, 'NA_AUDIT_KEPT_DAYS')
    })
  })
})
