import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { type HandlerContext, type LowLevelServer, loadServerPackage } from './official-packages.ts'

/**
 * A server made with the official packages that has what the scenarios of the conformance package call by name. It
 * keeps sessions, so that it can ask its client. Prints its port.
 */
const { Server, NodeStreamableHTTPServerTransport, localhostAllowedHostnames, validateHostHeader } =
  await loadServerPackage()

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const SOUND = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='
const text = (value: string): object => ({ type: 'text', text: value })
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' }
const resource = (uri: string, content: string, mimeType = 'text/plain'): object => ({
  type: 'resource',
  resource: { uri, mimeType, text: content },
})

type Given = Readonly<Record<string, string>>
type Run = (given: Given, context: HandlerContext) => Promise<object> | object

const textOf = (value: unknown): object => ({ content: [text(JSON.stringify(value))] })
const elicit =
  (properties: object): Run =>
  async ({ message = 'Please answer.' }, { mcpReq }) => {
    const requestedSchema = { type: 'object', properties, required: Object.keys(properties).slice(0, 1) }
    const { action, content } = await mcpReq.elicitInput({ mode: 'form', message, requestedSchema })
    return { content: [text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`)] }
  }
const options = ['option1', 'option2', 'option3']
const titled = options.map((each, at) => ({ const: `value${at + 1}`, title: each }))

const TOOLS: Readonly<Record<string, { readonly schema?: object; readonly run: Run }>> = {
  test_simple_text: { run: () => ({ content: [text('This is a simple text response for testing.')] }) },
  test_image_content: { run: () => ({ content: [image] }) },
  test_audio_content: { run: () => ({ content: [{ type: 'audio', data: SOUND, mimeType: 'audio/wav' }] }) },
  test_embedded_resource: { run: () => ({ content: [resource('test://embedded-resource', 'Embedded.')] }) },
  test_multiple_content_types: {
    run: () => ({ content: [text('Several types:'), image, resource('test://mixed', '{"a":1}', 'application/json')] }),
  },
  test_tool_with_logging: {
    run: async (_given, { mcpReq }) => {
      for (const step of ['started', 'processing', 'completed']) await mcpReq.log('info', `Tool ${step}`)
      return { content: [text('logged')] }
    },
  },
  test_tool_with_progress: {
    run: async (_given, { mcpReq }) => {
      const { _meta: meta } = mcpReq
      const progressToken = meta?.['progressToken'] ?? 0
      for (const progress of [0, 50, 100])
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } })
      return textOf(progressToken)
    },
  },
  test_error_handling: { run: () => ({ content: [text('This tool returns an error.')], isError: true }) },
  test_sampling: {
    run: async ({ prompt = '' }, { mcpReq }) => {
      const message = { role: 'user', content: text(prompt) }
      return textOf(await mcpReq.requestSampling({ messages: [message], maxTokens: 100 }))
    },
  },
  test_elicitation: { run: elicit({ username: { type: 'string' }, email: { type: 'string' } }) },
  test_elicitation_sep1034_defaults: {
    run: elicit({
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  },
  test_elicitation_sep1330_enums: {
    run: elicit({
      untitledSingle: { type: 'string', enum: options },
      titledSingle: { type: 'string', oneOf: titled },
      legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
      untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
      titledMulti: { type: 'array', items: { anyOf: titled } },
    }),
  },
  test_reconnection: {
    // The client gets the result after it reconnected.
    run: async (_given, { http }) => {
      http?.closeSSE?.()
      await pause(100)
      return { content: [text('Reconnected.')] }
    },
  },
  json_schema_2020_12_tool: {
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
      properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
      additionalProperties: false,
    },
    run: () => ({ content: [text('valid')] }),
  },
}

const RESOURCES: Readonly<Record<string, object>> = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PIXEL },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched resource content' },
}

const PROMPTS: Readonly<
  Record<string, { readonly names: readonly string[]; readonly content: (given: Given) => object[] }>
> = {
  test_simple_prompt: { names: [], content: () => [text('This is a simple prompt for testing.')] },
  test_prompt_with_arguments: {
    names: ['arg1', 'arg2'],
    content: ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    names: ['resourceUri'],
    content: ({ resourceUri = '' }) => [resource(resourceUri, 'Embedded resource content for testing.')],
  },
  test_prompt_with_image: { names: [], content: () => [image] },
}

function makeServer(): LowLevelServer {
  const listChanged = { listChanged: true }
  const resources = { subscribe: true, ...listChanged }
  const capabilities = { tools: listChanged, resources, prompts: listChanged, logging: {}, completions: {} }
  const server = new Server({ name: 'conformance', version: '1.0.0' }, { capabilities })
  server.setRequestHandler('tools/list', () => ({
    tools: Object.entries(TOOLS).map(([name, { schema }]) => ({
      name,
      description: `Runs ${name}.`,
      inputSchema: schema ?? { type: 'object' },
    })),
  }))
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const run = TOOLS[params.name ?? '']?.run
    if (run === undefined) throw new Error('There is no such tool.')
    return run(params.arguments ?? {}, context)
  })
  server.setRequestHandler('resources/list', () => ({
    resources: Object.keys(RESOURCES).map((uri) => ({ uri, name: uri, description: uri })),
  }))
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', description: 'A template.' }],
  }))
  server.setRequestHandler('resources/read', ({ params: { uri = '' } }) => {
    const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? []
    const found = id === undefined ? RESOURCES[uri] : { mimeType: 'application/json', text: JSON.stringify({ id }) }
    if (found === undefined) throw new Error('There is no such resource.')
    return { contents: [{ uri, ...found }] }
  })
  server.setRequestHandler('prompts/list', () => ({
    prompts: Object.entries(PROMPTS).map(([name, { names }]) => ({
      name,
      description: `Returns ${name}.`,
      arguments: names.map((each) => ({ name: each, description: each, required: true })),
    })),
  }))
  server.setRequestHandler('prompts/get', ({ params }) => {
    const content = PROMPTS[params.name ?? '']?.content(params.arguments ?? {}) ?? []
    return { messages: content.map((each) => ({ role: 'user', content: each })) }
  })
  server.setRequestHandler('completion/complete', () => ({
    completion: { values: ['paris'], total: 1, hasMore: false },
  }))
  for (const method of ['resources/subscribe', 'resources/unsubscribe']) server.setRequestHandler(method, () => ({}))
  return server
}

/** Stores the events of a stream, from which a client can resume. */
class EventStore {
  readonly #events: { readonly id: string; readonly stream: string; readonly message: object }[] = []

  async storeEvent(stream: string, message: object): Promise<string> {
    const id = `${this.#events.length}`
    this.#events.push({ id, stream, message })
    return id
  }

  async replayEventsAfter(
    last: string,
    { send }: { readonly send: (id: string, message: object) => Promise<void> },
  ): Promise<string> {
    const { stream = '' } = this.#events[Number(last)] ?? {}
    for (const event of this.#events.slice(Number(last) + 1))
      // The first event of a stream has no message.
      if (event.stream === stream && Object.keys(event.message).length > 0) await send(event.id, event.message)
    return stream
  }
}

type Transport = InstanceType<typeof NodeStreamableHTTPServerTransport>
const sessions = new Map<string, Transport>()

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { host, origin, 'mcp-session-id': session } = request.headers
  const allowed = localhostAllowedHostnames()
  const isLocal = origin === undefined || allowed.includes(new URL(origin).hostname)
  if (!validateHostHeader(host, allowed).ok || !isLocal) return void response.writeHead(403).end()
  const known = sessions.get(String(session ?? ''))
  if (known !== undefined) return known.handleRequest(request, response)
  if (session !== undefined) return void response.writeHead(404).end()
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    eventStore: new EventStore(),
    retryInterval: 50,
    onsessioninitialized: (id: string) => void sessions.set(id, transport),
  })
  await makeServer().connect(transport)
  await transport.handleRequest(request, response)
}

const http = createServer((request, response) => void serve(request, response))
http.listen(0, '127.0.0.1', () => process.stdout.write(`${(http.address() as AddressInfo).port}\n`))
