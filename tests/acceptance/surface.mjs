// The acceptance kit was written against the commands of release 0.2.0. This translates its command lines into the present
// ones, the names of the library likewise, and nothing else: a check that passes through it holds for the program. Lines that are new already stay as they are.

/** Other words for the same command. The longest that fits counts. */
const PATHS = {
  'agent capabilities': 'agent list --count-by capability',
  'agent card sign': 'agent sign-card',
  'agent card verify': 'verify',
  'agreement verify': 'verify',
  'attestation verify': 'verify',
  'audit export': 'authority audit',
  'audit forward': 'authority audit',
  'authority import-evidence': 'authority recover',
  'authority key-succession': 'authority rotate-key',
  'authority migrate-db': 'authority migrate',
  'authority rehearse': 'authority restore --rehearse',
  'authority verify-db': 'authority verify',
  'authzen ask': 'gateway ask',
  'authzen certify': 'gateway ask --scenario certification',
  'boundary-policy activate': 'policy activate',
  'boundary-policy deactivate': 'policy deactivate',
  'boundary-policy history': 'policy show',
  'boundary-policy list': 'policy list',
  'boundary-policy new': 'policy new',
  'boundary-policy publish': 'policy publish',
  'boundary-policy replay': 'verify --replay',
  'boundary-policy simulate': 'policy publish --dry-run',
  'boundary-policy test': 'policy test',
  'boundary-policy validate': 'policy publish --dry-run',
  'boundary-policy verify': 'verify',
  'cert verify': 'verify',
  'consensus assemble': 'record tally',
  'consensus verify': 'verify',
  'consensus vote': 'record vote',
  'data-usage policy': 'policy publish',
  'data-usage publish': 'policy publish',
  'data-usage show': 'policy show license',
  'data-usage verify': 'verify',
  'disclose commit': 'record commit',
  'disclose prove': 'record prove',
  'disclose verify': 'verify',
  'evidence archive': 'evidence export',
  'evidence bundle': 'evidence receipt',
  'evidence count': 'evidence list',
  'evidence decisions': 'evidence list',
  'evidence prove': 'evidence receipt --form inclusion',
  'evidence rejections': 'evidence list --kind rejection',
  'evidence retain': 'evidence prune',
  'evidence search': 'evidence list',
  'evidence status': 'status',
  'evidence verify': 'verify',
  'executor-key list': 'evidence key list',
  'executor-key register': 'evidence key add',
  'executor-key retire': 'evidence key retire',
  'federation bootstrap': 'partner add',
  'feed export': 'partner export-feed',
  'feed import': 'partner import-feed',
  'feed status': 'status',
  'gateway add-network': 'gateway network add',
  'gateway audit export': 'gateway audit',
  'gateway audit prune': 'gateway audit --prune',
  'gateway audit verify': 'doctor --offline',
  'gateway canonical': 'record canonical',
  'gateway cert verify': 'verify',
  'gateway doctor': 'doctor',
  'gateway follow': 'gateway network refresh',
  'gateway preflight': 'partner inspect',
  'gateway settings': 'settings',
  'gateway state backup': 'gateway backup',
  'gateway state clear-suspect': 'gateway network clear',
  'gateway state floors': 'status --json',
  'gateway state release-revocation': 'gateway network clear',
  'gateway state rotate-issuer': 'gateway network refresh',
  'gateway state verify': 'verify --as gateway-state',
  'gateway token get': 'gateway token',
  'gateway token digest': 'gateway client add service',
  'gateway token new': 'gateway client add service --dry-run',
  'genesis follow': 'genesis fetch',
  'genesis verify': 'verify',
  'invite list': 'invite list --tokens',
  'admission add': 'invite rule add',
  'admission list': 'invite list --rules',
  'admission remove': 'invite withdraw',
  'admission test': 'invite rule test',
  'keygen network-authority': 'keygen authority',
  'mcp guard': 'agent guard-mcp',
  'mcp pin': 'agent guard-mcp --pin',
  'network-policy publish': 'policy publish',
  'network-policy rollback': 'policy activate network',
  'network-policy show': 'policy show network',
  'operator activity': 'operator list',
  'partner repin': 'partner set',
  'partner treaties': 'partner show --treaties',
  'recognition-policy publish': 'policy publish',
  'recognition-policy show': 'policy show recognition',
  'release verify': 'verify',
  'sovereign inspect': 'partner inspect',
  'treaty inspect': 'treaty show',
  'treaty replace': 'treaty renew',
  'trust-evidence verify': 'verify',
  'trusted archive': 'record history --all',
  'verify bundle': 'verify',
  'verify pack': 'verify',
  'verify receipt': 'verify',
  canonical: 'record canonical',
  certs: 'node list --certificates',
  evaluate: 'ask --as operator',
  findings: 'doctor --remote',
  heartbeat: 'node run --once',
  invite: 'invite create',
  nodes: 'node list',
  renew: 'node renew',
  revoke: 'node revoke',
  trusted: 'record history',
  version: '--version',
  watch: 'authority watch',
}

/** Options with another name. Those of one command stand under its old words. */
const OPTIONS = {
  '': { '--trust-policy': '--with' },
  'agent capabilities': {},
  'agent card verify': { '--node-key': '--node' },
  'agent list': { '--node-key': '--node' },
  'agreement verify': { '--offerer-key': '--key', '--responder-key': '--key' },
  'attestation issue': { '--public-key': '--node' },
  'attestation list': { '--status': '--state' },
  'attestation verify': { '--treaty': '--with', '--issuer-key': '--key', '--policy': '--with' },
  'audit forward': { '--to': '--forward', '--to-file': '--forward' },
  'authority backup': { '--to': '--out' },
  'authority import-evidence': { '--from': '--evidence' },
  'authority resign-lists': { '--now': '--at' },
  'authority rotate-key': { '--gateway-token-file': '--token-file' },
  'authzen ask': { '--authority-key': '--key', '--unsigned': '--allow-unsigned' },
  'boundary-policy new': { '--dir': '--out' },
  'boundary-policy verify': { '--issuer-key': '--key' },
  'cert verify': { '--anchor': '--key' },
  certs: { '--node-key': '--node' },
  'consensus assemble': { '--validator-key': '--key' },
  'consensus verify': { '--validator-key': '--key', '--assembler-key': '--key' },
  'consensus vote': { '--issuer-key': '--key' },
  'data-usage verify': { '--policy': '--with', '--agent-key': '--key', '--licensor-key': '--key' },
  'disclose verify': { '--commitment': '--with', '--issuer-key': '--key' },
  'evidence anchor': { '--save': '--out' },
  'evidence archive': { '--to': '--archive' },
  'evidence count': { '--split': '--count-by' },
  'evidence export': { '--since': '--after' },
  'evidence verify': {
    '--anchors': '--with',
    '--checkpoint': '--with',
    '--executor-keys': '--with',
    '--authority-key': '--key',
  },
  'evidence witnesses': { '--policy': '--out' },
  'executor-key register': { '--public-key': '--key' },
  'feed import': { '--issuer-key': '--key' },
  'gateway add-network': { '--gateway': '--home', '--authority': '--url' },
  'gateway cert verify': { '--anchor': '--key' },
  'gateway enable tokens': { '--gateway': '--home', '--network': '--authority' },
  'gateway token-key list': { '--gateway': '--home' },
  'gateway token-key pem': { '--gateway': '--home' },
  'gateway resource-metadata': { '--gateway': '--home' },
  'gateway init': { '--authority': '--url', '--out': '--home', '--start': '--detach' },
  'gateway preflight': { '--network': '--name', '--accept-self-declared-root': '--trust-first-use' },
  'genesis create': { '--network': '--name', '--root-public-key': '--root-key', '--na-public-key': '--authority-key' },
  'genesis follow': { '--history-out': '--out-history' },
  'genesis succeed': {
    '--na-public-key': '--authority-key',
    '--history-out': '--out-history',
    '--history': '--key-history',
  },
  init: { '--network': '--name' },
  invite: { '--recipient': '--node' },
  'admission test': { '--node-key': '--node' },
  revoke: { '--node-key': '--node' },
  'treaty inspect': { '--issuer-key': '--key' },
  up: { '--network': '--name', '--sheet': '--out' },
  verify: {
    '--offerer-key': '--key',
    '--responder-key': '--key',
    '--validator-key': '--key',
    '--commitment': '--with',
    '--context': '--with',
    '--attestation': '--with',
    '--treaty': '--with',
  },
  'verify pack': { '--executor-keys': '--with', '--witness': '--key' },
  'verify receipt': { '--policy': '--with', '--log-identity': '--with', '--line': '--with' },
  ask: { '--key': '--member-key', '--presented': '--attestation' },
  evaluate: { '--presented': '--attestation' },
  join: { '--evidence': '--platform', '--evidence-file': '--token-file' },
}

/** Numbers that are time spans now, with their unit. */
const SPANS = {
  '--validity-hours': ['--valid-for', 'h'],
  '--max-validity-hours': ['--valid-for', 'h'],
  '--valid-hours': ['--valid-for', 'h'],
  '--valid-days': ['--valid-for', 'd'],
  '--token-days': ['--valid-for', 'd'],
  '--token-expiry-hours': ['--expires-in', 'h'],
  '--open-hours': ['--expires-in', 'h'],
  '--overlap-hours': ['--overlap', 'h'],
  '--grace-hours': ['--grace', 'h'],
  '--lifetime-seconds': ['--valid-for', 's'],
  '--refresh-seconds': ['--every', 's'],
  '--older-than-days': ['--older-than', 'd'],
}
const SECONDS = {
  ask: ['--wait'],
  'partner add': ['--every', '--max-feed-age'],
  'partner set': ['--every', '--max-feed-age'],
  watch: ['--every'],
  'authority watch': ['--every'],
}
const SWITCHES = ['--roster', '--all-of-key', '--exact-times', '--partner']
const STARTS = ['authority start', 'gateway start']

/** The longest path of the table that the words begin with; else their own first words. */
function pathOf(words) {
  for (let length = Math.min(3, words.length); length > 0; length -= 1) {
    const path = words.slice(0, length).join(' ')
    if (Object.hasOwn(PATHS, path) || Object.hasOwn(OPTIONS, path)) return [path, length]
  }
  const length = words.findIndex((word) => word.startsWith('-'))
  const own = words.slice(0, length < 0 ? 2 : Math.min(length, 2))
  return [own.join(' '), own.length]
}

/** `invite create` begins with `invite`, which was a command itself. */
const isPresent = (words) => /^(?:invite (?:create|withdraw|rule)|verify) /.test(`${words.slice(0, 2).join(' ')} `)

function rename(old, rest) {
  const names = { ...OPTIONS[''], ...OPTIONS[old] }
  const made = []
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at]
    if (word === '--') return [...made, ...rest.slice(at)]
    const [flag, inline] =
      word.startsWith('--') && word.includes('=')
        ? [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]
        : [word]
    const value = () => inline ?? rest[(at += 1)] ?? ''
    if (SWITCHES.includes(flag)) continue
    if (flag === '--operator-key-id') value()
    else if (flag === '--config') made.push('--home', folderOf(value()))
    else if (flag === '--env-file' && !STARTS.includes(old)) made.push('--home', value())
    else if (flag === '--step' && old === 'authority key-succession') {
      const step = value()
      made.push(...(step === 'status' ? ['--status'] : ['--step', step]))
    } else if (flag === '--by' && old === 'evidence count') {
      if (value() === 'hour') made.push('--count-by', 'hour')
    } else if (flag === '--token' && old === 'join') {
      value()
      made.push('--token-file', '-')
    } else if (flag === '--outcome') {
      const outcome = value()
      made.push('--outcome', outcome === 'authorized' ? 'allowed' : outcome)
    } else if (flag === '--offerer-key' || flag === '--responder-key')
      made.push('--key', `${flag.slice(2, -4)}=${value()}`)
    else if (flag === '--assembler-key') made.push('--key', `assembler=${value()}`)
    else if (Object.hasOwn(SPANS, flag)) made.push(SPANS[flag][0], `${value()}${SPANS[flag][1]}`)
    else if (SECONDS[old]?.includes(flag) && /^\d+$/.test(inline ?? rest[at + 1] ?? '')) made.push(flag, `${value()}s`)
    else if (Object.hasOwn(names, flag)) made.push(inline === undefined ? names[flag] : `${names[flag]}=${inline}`)
    else made.push(word)
  }
  return made
}

/** A configuration file of the kit is chancery.toml of its folder. */
function folderOf(file) {
  const cut = file.lastIndexOf('/')
  return cut < 0 ? '.' : file.slice(0, cut) || '/'
}

/** Words that moved: into an option, or out of one. */
const MOVED = {
  'agent find': ([capability, ...rest]) => ['agent', 'list', '--capability', capability, ...rest],
  'agent show': ([key, ...rest]) => ['agent', 'list', '--node', key, ...rest],
  'boundary-policy new': ([name, ...rest]) => ['policy', 'new', '--name', name, ...rest],
  'evidence resource': ([id, ...rest]) => ['evidence', 'show', '--resource', id, ...rest],
  'evidence vendor': ([id, ...rest]) => ['evidence', 'show', '--vendor', id, ...rest],
  'gateway follow': (rest) =>
    takeOption(rest, '--network', (name, more) => ['gateway', 'network', 'refresh', name, ...more]),
  'gateway preflight': (rest) => takeOption(rest, '--origin', (url, more) => ['partner', 'inspect', url, ...more]),
  'gateway state backup': ([file, ...rest]) => ['gateway', 'backup', '--out', file, ...rest],
  'gateway state clear-suspect': ([network, issuer, ...rest]) => [
    'gateway',
    'network',
    'clear',
    network,
    '--suspect',
    issuer,
    ...rest,
  ],
  'gateway state release-revocation': ([network, issuer, certificate, ...rest]) => [
    'gateway',
    'network',
    'clear',
    network,
    '--certificate',
    certificate,
    '--issuer',
    issuer,
    ...rest,
  ],
  'gateway state rotate-issuer': ([network, issuer, ...rest]) => [
    'gateway',
    'network',
    'refresh',
    network,
    '--issuer',
    issuer,
    ...rest,
  ],
  'gateway token digest': (rest) => ['gateway', 'client', 'add', 'service', '--dry-run', '--token-file', '-', ...rest],
  'genesis sign': (rest) => takeOption(rest, '--genesis', (file, more) => ['genesis', 'sign', file, ...more]),
  'partner clear-alarm': ([partner, alarm, ...rest]) => ['partner', 'set', partner, '--clear-alarm', alarm, ...rest],
  'trust path': ([from, to, ...rest]) => ['partner', 'show', to, '--path-from', from, ...rest],
  wit: (rest) => wimse(rest),
}

function takeOption(rest, flag, make) {
  const at = rest.indexOf(flag)
  return at < 0
    ? make('', rest).filter((word) => word !== '')
    : make(rest[at + 1], [...rest.slice(0, at), ...rest.slice(at + 2)])
}

function wimse(rest) {
  const audience = rest[rest.indexOf('--audience') + 1]
  const isNamed = rest.includes('--request-url')
  const more = ['--profile', 'wimse', '--print-headers']
  if (!isNamed) return ['node', 'call', audience, ...rest, ...more]
  return takeOption(rest, '--request-url', (url, others) => ['node', 'call', url, ...others, ...more])
}

/** The words of the present command for those of release 0.2.0. */
export function argv(words) {
  if (isPresent(words) && words[0] !== 'verify') return words
  const [old, length] = movedPath(words) ?? pathOf(words)
  const rest = words.slice(length)
  // Violations are recorded where evidence is submitted.
  if (old === 'data-usage verify' && rest.includes('--record'))
    return [
      'evidence',
      'submit',
      ...rename(
        old,
        rest.filter((word) => word !== '--record'),
      ),
    ]
  // A switch needs its step: the guided command goes on from where the network is.
  if (old === 'authority key-succession' && !rest.includes('--step') && !rest.includes('--first-list'))
    return ['authority', 'rotate-key', '--step', 'switch', ...rename(old, rest)]
  if (old === 'gateway init' && rest.includes('--home') && rest.includes('--out'))
    return takeOption(rest, '--home', (home, more) => [
      'gateway',
      'init',
      '--genesis',
      `${home}/genesis.json`,
      ...rename(old, more),
    ])
  if (old === 'gateway add-network' && rest.includes('--home'))
    return takeOption(rest, '--home', (home, more) => [
      'gateway',
      'network',
      'add',
      '--genesis',
      `${home}/genesis.json`,
      ...rename(old, more),
    ])
  // The file of a treaty is verified, as every file.
  if (old === 'treaty inspect' && /\.json$/.test(rest[0] ?? '')) return ['verify', ...rename(old, rest)]
  const move = MOVED[old]
  if (move !== undefined) return move(rename(old, rest)).filter((word) => word !== undefined)
  const now = Object.hasOwn(PATHS, old) ? PATHS[old].split(' ') : words.slice(0, length)
  return [...now, ...rename(old, rest)]
}

function movedPath(words) {
  for (let length = Math.min(3, words.length); length > 0; length -= 1) {
    const path = words.slice(0, length).join(' ')
    if (Object.hasOwn(MOVED, path)) return [path, length]
  }
  return undefined
}

/** A script imports the library under its name. */
export const modules = {
  '@chancery/sdk': './tests/acceptance/former-names.mjs',
  '@chancery/sdk/existing': '@chancery/sdk/compat',
  '@chancery/sdk/node': './tests/acceptance/former-names.mjs',
}

export async function packages(load) {
  const [sdk, verify, existing, protocol] = await Promise.all([
    import('./former-names.mjs'),
    load('@chancery/sdk/verify'),
    load('@chancery/sdk/compat'),
    load('@chancery/protocol'),
  ])
  return { sdk, verify: { ...verify, ...sdk.verifiers }, existing: sdk.existingOf(existing), node: sdk, protocol }
}
