import { readFileSync } from 'node:fs'

// Who may import whom (CONTRIBUTING.md, «Who may import whom»). The arrows themselves are in tools/boundaries.json.
// Run by `npm run check`; alone: node tools/check-imports.ts
const boundaries = JSON.parse(readFileSync(new URL('tools/boundaries.json', import.meta.url), 'utf8'))
const units = { packages: boundaries.packages, apps: boundaries.apps }

/** Never shipped, so the arrows do not bind it: tests, suites, testkit, tools and benches. */
const UNSHIPPED = ['[.](test|suite)[.]ts$', '^(tests|tools|bench|examples)/', '^packages/testkit/', '[.]config[.]ts$']
const FEATURE = '^apps/([^/]+)/src/features/([^/]+)/'

const any = (words) => `(${words.join('|')})`
const src = (kind, name) => `^${kind}/${name}/`

function forbid(name, comment, from, to) {
  return { name, comment, severity: 'error', from: { ...from, pathNot: [...UNSHIPPED, ...(from.pathNot ?? [])] }, to }
}

/** protocol ← contract ← service-kit ← authority, gateway; protocol ← contract ← sdk ← cli, console. */
const arrows = Object.entries(units).flatMap(([kind, list]) =>
  Object.entries(list).map(([name, allowed]) => {
    const own = src(kind, name)
    const packages = allowed.length === 0 ? [] : [`^packages/${any(allowed)}/`]
    return forbid(
      `arrows-${name}`,
      allowed.length === 0 ? `${name} imports nothing of ours` : `${name} imports only ${allowed.join(', ')}`,
      { path: own },
      // Apps and testkit have rules of their own with a clearer sentence.
      { path: '^packages/', pathNot: [own, '^packages/testkit/', ...packages] },
    )
  }),
)

const apps = Object.keys(boundaries.apps).map((name) => {
  const dynamic = boundaries.loadedByDynamicImport[name] ?? []
  const exceptions = dynamic.length === 0 ? [] : [`^apps/${any(dynamic)}/`]
  return forbid(
    `apps-alone-${name}`,
    'apps never import apps',
    { path: src('apps', name) },
    { path: '^apps/', pathNot: [src('apps', name), ...exceptions] },
  )
})

const dynamicOnly = Object.entries(boundaries.loadedByDynamicImport).map(([name, loaded]) =>
  forbid(
    `dynamic-only-${name}`,
    `${name} loads ${loaded.join(' and ')} by dynamic import only`,
    { path: src('apps', name) },
    { path: `^apps/${any(loaded)}/`, dynamic: false },
  ),
)

/** A feature reaches another only along a listed arrow. */
const featureArrows = Object.entries(boundaries.features).flatMap(([app, list]) => {
  const folder = `^apps/${app}/src/features/`
  const sentence = 'a feature imports another only along the arrows of tools/boundaries.json'
  const listed = Object.entries(list).map(([feature, others]) =>
    forbid(
      `feature-arrows-${app}-${feature}`,
      sentence,
      { path: `${folder}${feature}/` },
      { path: `${folder}[^/]+/`, pathNot: `${folder}${any([feature, ...others])}/` },
    ),
  )
  const rest = forbid(
    `feature-arrows-${app}`,
    sentence,
    { path: `${folder}([^/]+)/`, pathNot: Object.keys(list).map((feature) => `${folder}${feature}/`) },
    { path: `${folder}[^/]+/`, pathNot: `${folder}$1/` },
  )
  return listed.concat(rest)
})

/** main → app → features → auth, signing, audit, store. The lists features.ts and jobs.ts belong to app. */
const layers = Object.entries(boundaries.belowFeatures).flatMap(([app, below]) => {
  const at = `^apps/${app}/src/`
  return [
    forbid(
      `below-features-${app}`,
      `${below.join(', ')} never import a feature`,
      { path: `${at}${any(below)}/` },
      { path: `${at}features/` },
    ),
    forbid(
      `layers-${app}`,
      'only main and index import app; only index imports main; only app, open-office and index import the lists',
      { path: at, pathNot: [`${at}(main|app|open-office|index)[.]ts$`] },
      { path: `${at}(main|app|features|jobs|index)[.]ts$` },
    ),
    forbid(
      `app-below-main-${app}`,
      'app never imports main',
      { path: `${at}app[.]ts$` },
      {
        path: `${at}(main|maintenance|backup-commands|host-authority|succession-commands|unknown-commands|index)[.]ts$`,
      },
    ),
    forbid(
      `helpers-below-features-${app}`,
      'helpers beside features never import a feature',
      {
        path: `${at}([^/]+|features/[^/]+)[.]ts$`,
        pathNot: [
          `${at}(main|maintenance|backup-commands|host-authority|succession-commands|unknown-commands|app|open-office|features|jobs|index|office)[.]ts$`,
        ],
      },
      { path: `${at}features/[^/]+/` },
    ),
    forbid(
      `office-is-types-${app}`,
      'office.ts holds types: import it with import type',
      { path: at },
      { path: `${at}office[.]ts$`, dependencyTypesNot: ['type-only'] },
    ),
    forbid(
      `office-imports-types-${app}`,
      'office.ts holds types: it imports with import type',
      { path: `${at}office[.]ts$` },
      { couldNotResolve: false, dependencyTypesNot: ['type-only'] },
    ),
  ]
})

const listed = Object.entries(units).flatMap(([kind, list]) => Object.keys(list).map((name) => src(kind, name)))

export default {
  forbidden: [
    ...arrows,
    ...apps,
    ...dynamicOnly,
    ...layers,
    ...featureArrows,
    forbid(
      'feature-door',
      'a feature imports another through its index.ts',
      { path: FEATURE },
      { path: '^apps/$1/src/features/[^/]+/', pathNot: ['^apps/$1/src/features/$2/', '/features/[^/]+/index[.]ts$'] },
    ),
    forbid(
      'package-door',
      'other packages are imported by their name, which leads to their index',
      { path: '^(packages|apps)/([^/]+)/' },
      {
        path: '^(packages|apps)/',
        pathNot: [
          '^$1/$2/',
          '/src/(index|main)[.]ts$',
          '^packages/sdk/src/(existing|on-node|verify)/index[.]ts$',
          '/src/vectors/',
        ],
      },
    ),
    forbid(
      'tests-only',
      'testkit, tests and test files are imported by tests only',
      {},
      { path: ['^packages/testkit/', '^tests/', '[.](test|suite)[.]ts$'] },
    ),
    forbid(
      'pure',
      'protocol and contract run in a browser: no node: module',
      { path: '^packages/(protocol|contract)/' },
      { dependencyTypes: ['core'] },
    ),
    forbid(
      'browser',
      'only on-node/ of the library uses Node: the rest runs in browsers',
      { path: '^packages/sdk/', pathNot: ['^packages/sdk/src/on-node/'] },
      { dependencyTypes: ['core'] },
    ),
    forbid(
      'no-dependencies',
      'protocol, contract and sdk have no dependency outside this repository',
      { path: '^packages/(protocol|contract|sdk)/' },
      { path: 'node_modules/' },
    ),
    forbid(
      'listed',
      'a new package or app is listed in tools/boundaries.json',
      { path: '^(packages|apps)/([^/]+)/', pathNot: listed },
      { path: '^(packages|apps)/', pathNot: '^$1/$2/' },
    ),
    forbid('found', 'there is no such file', {}, { couldNotResolve: true }),
  ],
  options: {
    // TypeScript 7 has no API to parse with; swc also tells type-only imports apart.
    parser: 'swc',
    tsPreCompilationDeps: 'specify',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(^|/)dist/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['development', 'types', 'import', 'node', 'default'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
}
