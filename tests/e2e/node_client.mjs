// One client session over stdio with a published SDK; prints what it saw as one JSON object.
//
//   node node_client.mjs sdk|client legacy|auto ROOT PATTERN COMMAND [ARGUMENT...]
//
// PATTERN makes a search that takes long, so that progress and leaving can be seen.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [kind, mode, root, pattern, command, ...args] = process.argv.slice(2);
const file = pathToFileURL(path.join(root, "a b.txt")).href;
const outside = pathToFileURL(path.join(root, "..", "outside.txt")).href;
const info = { name: "test", version: "1" };
const updated = "notifications/resources/updated";

let Client, StdioClientTransport, onUpdate, options;
if (kind === "sdk") {
  ({ Client } = await import("@modelcontextprotocol/sdk/client/index.js"));
  ({ StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js"));
  const { ResourceUpdatedNotificationSchema } = await import("@modelcontextprotocol/sdk/types.js");
  onUpdate = (client, heard) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, heard);
} else {
  ({ Client } = await import("@modelcontextprotocol/client"));
  ({ StdioClientTransport } = await import("@modelcontextprotocol/client/stdio"));
  onUpdate = (client, heard) => client.setNotificationHandler(updated, heard);
  options = mode === "auto" ? { versionNegotiation: { mode: "auto" } } : undefined;
}

const client = new Client(info, options);
const call = (name, given, options) =>
  kind === "sdk"
    ? client.callTool({ name, arguments: given }, undefined, options)
    : client.callTool({ name, arguments: given }, options);
const refusal = async (promise) => promise.then(() => null, (error) => ({ code: error.code, message: error.message }));

await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const seen = {
  server: client.getServerVersion(),
  instructions: client.getInstructions(),
  capabilities: client.getServerCapabilities(),
};

seen.tools = (await client.listTools()).tools;
seen.found = await call("search_directory", { absolute_dir_path: ".", pattern: "NEEDLE" });
seen.refused = await call("read_content", { absolute_file_path: "/etc/passwd" });
seen.resources = (await client.listResources()).resources;
seen.templates = (await client.listResourceTemplates()).resourceTemplates;
seen.text = (await client.readResource({ uri: file })).contents;
seen.outside = await refusal(client.readResource({ uri: outside }));
const asked = { name: "path", value: path.join(root, "a") };
seen.completed = (await client.complete({ ref: { type: "ref/resource", uri: "file://{+path}" }, argument: asked })).completion;

const heard = new Promise((resolve) => onUpdate(client, (notification) => resolve(notification.params.uri)));
if (mode === "auto") {
  const stream = await client.listen({ resourceSubscriptions: [file, outside] });
  seen.honored = stream.honoredFilter.resourceSubscriptions;
} else {
  seen.outsideSubscription = await refusal(client.subscribeResource({ uri: outside }));
  await client.subscribeResource({ uri: file });
}
fs.appendFileSync(path.join(root, "a b.txt"), "more\n");
seen.updated = (await heard) === file;

seen.progress = [];
const leaving = new AbortController();
const slow = { absolute_dir_path: ".", pattern, regex: true };
seen.left = await refusal(
  call("search_directory", slow, {
    signal: leaving.signal,
    timeout: 60_000,
    onprogress: (progress) => {
      seen.progress.push(progress);
      if (seen.progress.length === 2) leaving.abort("enough");
    },
  }),
);
seen.after = await call("find_files", { name: "a b" });
await client.close();
console.log(JSON.stringify(seen));
