export * from './access-log.ts'
export {
  CachedDocument,
  CodedPages,
  HttpResponse,
  RareDocument,
  etagAside,
  etagOf,
  isNotModified,
  json,
  jsonText,
} from './response.ts'
export { StreamResponse } from './unread-answers.ts'
export type { Binding, Guard, HandlerResult, StreamWriter } from './unread-answers.ts'
export { RawHeaders, checkRawRequest, readTarget } from './target.ts'
export type { Call, NameCaller, Query, RequestHeaders } from './target.ts'
export * from './server.ts'
export * from './html.ts'
export { noteCaller } from './open-call.ts'
export { Edge } from './edge.ts'
export type { EdgeOptions, EdgeTls } from './edge.ts'
export type { PathParams, RouteMatch } from './router.ts'
export type { Exchange, Failure } from './exchange.ts'
export { checkCoding, hasBody, readBodyBytes } from './body.ts'
export { readRecordTexts } from './record-texts.ts'
