// SPDX-License-Identifier: MIT
//
// http_node.js - Node's http beside http_mpr: `node http_node.js PORT DOCUMENTS`. /1k from memory, others are files.
const fs = require('fs');
const path = require('path');
const kilobyte = Buffer.alloc(1024, 'k');
const [port, documents] = process.argv.slice(2);

const server = require('http').createServer((request, response) => {
    if (request.url === '/1k') {
        response.writeHead(200, {'Content-Type': 'text/plain', 'Content-Length': kilobyte.length});
        response.end(kilobyte);
        return;
    }
    const name = path.join(documents, path.normalize('/' + request.url));
    fs.stat(name, (error, info) => {
        if (error || !info.isFile()) {
            response.writeHead(404).end();
            return;
        }
        response.writeHead(200, {'Content-Length': info.size});
        fs.createReadStream(name).pipe(response);
    });
});
server.keepAliveTimeout = 600000;
server.listen(Number(port), '127.0.0.1');
