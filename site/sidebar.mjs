import { globSync } from 'node:fs'
import { basename, join } from 'node:path'

/** The order in which the site is read. */

/** A folder of docs: the pages named, in this order, then whatever else it holds, so that a new page is never lost. */
function folder(name, first = [], elsewhere = []) {
  const rest = globSync('*.md', { cwd: join('../docs', name) })
    .map((file) => basename(file, '.md'))
    .filter((page) => page !== 'index' && !first.includes(page) && !elsewhere.includes(page))
  return [...first, ...rest.toSorted()].map((page) => join(name, page))
}

const group = (label, items, collapsed = true) => ({ label, items, collapsed })

const CONCEPTS = [
  'sovereign-network',
  'nodes-and-certificates',
  'revocation-and-freshness',
  'treaties-and-recognition',
  'boundary-decisions',
  'evidence',
  'gateway',
  'keys',
  'backup-and-recovery',
]
const HANDBOOK = [
  'install',
  'packages',
  'install-helm',
  'deploy',
  'configure',
  'keys',
  'backup',
  'upgrade',
  'incidents',
  'hardening',
  'capacity',
  'high-availability',
  'monitoring',
  'traces',
  'doctor',
]
const JUDGING = ['threat-model', 'comparison']

export const sidebar = [
  { label: 'Start here', link: '/' },
  group('Tutorials', folder('tutorial', ['first-network', 'two-networks', 'boundary-policies', 'evidence']), false),
  group('Concepts', folder('concepts', CONCEPTS), false),
  group('Operator handbook', folder('operate', HANDBOOK)),
  group('Programs', folder('', ['client-library', 'offline-verification'], ['architecture', ...JUDGING])),
  group('Protocol', folder('protocol', ['core', 'trust-operations', 'gateway', 'request-proof'])),
  group('Reference', folder('reference', ['records', 'routes', 'errors', 'commands', 'settings'])),
  group('How it works inside', ['architecture', ...folder('flows')]),
  group('Judge it', [...JUDGING, ...folder('evidence')]),
  group('Decisions', folder('decisions')),
  group('Project', ['project/changelog', 'project/contributing', 'project/security']),
]
