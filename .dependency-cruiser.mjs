import { readFileSync } from 'node:fs'

// Who may import whom (docs/project/style.md, «Import rules»). The arrows themselves are in tools/check/boundaries.json.
// Run by `npm run check`; alone: node tools/check/check-imports.ts
const boundaries = JSON.parse(readFileSync(new URL('tools/check/boundaries.json', import.meta.url), 'utf8'))
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
  const sentence = 'a feature imports another only along the arrows of tools/check/boundaries.json'
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

/** Layers of an app, from the top down: a file imports only its own layer and those below it, types included. */
const layers = Object.entries(boundaries.layers).flatMap(([app, rows]) => {
  const at = `^apps/${app}/src/`
  const toPath = (name) => (name.endsWith('.ts') ? `${at}${name.replace('.', '[.]')}$` : `${at}${name}/`)
  return rows.slice(1).map((names, index) =>
    forbid(
      `layers-${app}-${names[0].replace('.ts', '')}`,
      `${names.join(', ')} may not import a layer above (tools/check/boundaries.json)`,
      { path: names.map(toPath) },
      {
        path: rows
          .slice(0, index + 1)
          .flat()
          .map(toPath),
      },
    ),
  )
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
      'startup-door',
      'startup/ is imported by app.ts and commands/ only',
      { path: '^apps/([^/]+)/src/', pathNot: ['^apps/[^/]+/src/(app[.]ts$|commands/|startup/)'] },
      { path: '^apps/$1/src/startup/' },
    ),
    forbid(
      'startup-features',
      'startup/ knows no feature',
      { path: '^apps/([^/]+)/src/startup/' },
      { path: '^apps/$1/src/features/' },
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
          '^packages/sdk/src/(a2a|authority|compat|evidence|gateway|mcp|nodejs|nodejs/platform|protocol|verify|wimse)/index[.]ts$',
          // The servers, the frameworks, and what the programs of this repository share.
          '^packages/sdk/src/((servers|frameworks)/[a-z-]+|internal)[.]ts$',
          '^packages/service-kit/src/threads/index[.]ts$',
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
      'only nodejs/ of the library uses Node: the rest runs in browsers',
      { path: '^packages/sdk/', pathNot: ['^packages/sdk/src/nodejs/'] },
      { dependencyTypes: ['core'] },
    ),
    forbid(
      'no-dependencies',
      'protocol, contract and sdk have no dependency outside this repository',
      { path: '^packages/(protocol|contract|sdk)/', pathNot: ['^packages/sdk/src/servers/'] },
      { path: 'node_modules/' },
    ),
    forbid(
      'types-of-servers',
      'sdk/src/servers imports only the types of the web server it is for',
      { path: '^packages/sdk/src/servers/' },
      { path: 'node_modules/', pathNot: 'node_modules/(@types/express|express|fastify|hono)/' },
    ),
    forbid(
      'listed',
      'a new package or app is listed in tools/check/boundaries.json',
      { path: '^(packages|apps)/([^/]+)/', pathNot: listed },
      { path: '^(packages|apps)/', pathNot: '^$1/$2/' },
    ),
    forbid('circle', 'no file imports another in a circle, types included', {}, { circular: true }),
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
